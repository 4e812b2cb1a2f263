"""Tell browsers, our own scripts and htmx apart."""

from django.http import HttpRequest


def wants_json(request: HttpRequest) -> bool:
    """Our scripts send `Accept: application/json`; browsers prefer HTML for a page."""
    return request.get_preferred_type(["text/html", "application/json"]) == "application/json"


def is_htmx(request: HttpRequest) -> bool:
    """Answers that depend on it must vary by it: `Vary: HX-Request`."""
    return request.headers.get("HX-Request") == "true"
