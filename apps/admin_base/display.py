"""What the lists show in a cell."""

from django.utils.html import format_html
from django.utils.safestring import SafeString


def digest_prefix(word: str) -> str:
    """The hex digits of a digest that was copied with or without its `sha256:`."""
    return word.removeprefix("sha256:").lower()


def badge(state: str) -> SafeString:
    return format_html('<span class="larder-badge larder-badge-{}">{}</span>', state, state)


def short(digest: str) -> SafeString | str:
    """The first digits of a digest, the whole of it on hover."""
    return format_html('<code title="sha256:{}">{}</code>', digest, digest[:12]) if digest else "-"


def link(url: str, text: object) -> SafeString:
    return format_html('<a href="{}">{}</a>', url, text)


def portal_link(url: str, about: object) -> SafeString:
    """To the page of the same thing in the portal; fifty links that all read "open" would tell a listener nothing."""
    return format_html('<a href="{}">open<span class="visually-hidden"> {} in the portal</span></a>', url, about)
