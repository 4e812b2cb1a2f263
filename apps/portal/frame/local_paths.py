"""Where a form or an address asks to be led afterwards: to a page of Larder, or nowhere."""

from django.utils.http import url_has_allowed_host_and_scheme


def local_path(wanted: str) -> str:
    """The path, empty for another site and for a relative one, which would depend on the page that leads there."""
    return wanted if wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None) else ""
