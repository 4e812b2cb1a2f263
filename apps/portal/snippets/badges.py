"""Markdown that shows the badges of a module or provider elsewhere."""

from django.conf import settings

from apps.portal.frame.page_urls import Address, url_of


def badges_markdown(address: Address) -> str:
    site, page = settings.PUBLIC_URL, url_of(address)
    return "\n".join(
        f"[![{label} of {address}]({site}{url_of(address, 'badge', label)})]({site}{page})"
        for label in ("version", "downloads")
    )
