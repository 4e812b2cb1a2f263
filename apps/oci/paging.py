"""Lists of names in the order of bytes, a page at a time (end-8b). Names are ASCII, so text compares as bytes do."""

from collections.abc import Iterable, Mapping
from itertools import islice
from urllib.parse import urlencode

from apps.oci.errors import OciRefusal

_MOST_DIGITS = 18


def page_of(names: Iterable[str], query: Mapping[str, str], path: str) -> tuple[list[str], dict[str, str]]:
    """The page that `n` and `last` ask for, and the header that leads to the next. Raises OciRefusal.

    `last` need not exist. No names and no Link for `n=0`: there is no next page of nothing.
    """
    last = query.get("last", "")
    rest = [name for name in sorted(names) if name > last]
    if "n" not in query:
        return rest, {}
    size = _number(query["n"])
    page = list(islice(rest, size))
    if not page or len(page) == len(rest):
        return page, {}
    return page, {"Link": f'<{path}?{urlencode({"n": size, "last": page[-1]})}>; rel="next"'}


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise OciRefusal(f"n is {text[:40]!r}, expected how many names you want.")
    return int(text)
