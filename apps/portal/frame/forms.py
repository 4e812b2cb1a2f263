"""What forms share: the sentence of a refusal, and the attributes of fields."""

from apps.lib.errors import RegistryError

# For names, addresses and codes: browsers neither complete nor correct them.
PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}


def sentence(refusal: RegistryError) -> str:
    """The error and its hint, as sentences for a page."""
    texts = [text for text in (str(refusal), refusal.hint) if text]
    return " ".join(_capitalised(text) + ("" if text[-1] in ".?!)" else ".") for text in texts)


def _capitalised(text: str) -> str:
    """Capitalised, except an address: another letter case would be another name."""
    return text if "/" in text.split(maxsplit=1)[0] else text[0].upper() + text[1:]
