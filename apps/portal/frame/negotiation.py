"""Who is asking: a person's browser, our own script, or htmx."""

from django.http import HttpRequest


def wants_json(request: HttpRequest) -> bool:
    """Our scripts ask with `Accept: application/json`; what a browser sends for a page prefers HTML."""
    return request.get_preferred_type(["text/html", "application/json"]) == "application/json"


def is_htmx(request: HttpRequest) -> bool:
    """Answers that depend on it vary by it: `Vary: HX-Request`."""
    return request.headers.get("HX-Request") == "true"
