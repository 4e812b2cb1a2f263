"""Django's request handler with its middleware. It reads UTF-8 only, and starts nothing: forked processes share it."""

from collections.abc import Mapping
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class Utf8Request(WSGIRequest):
    """Ignores the charset of Content-Type, which Django would also use for the query string.

    `rot13` would raise before any error page, and `unicode_escape` makes surrogates that no database stores.
    """

    def _set_content_type_params(self, meta: Mapping[str, Any]) -> None:
        self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))

    @property
    def is_form_in_another_charset(self) -> bool:
        charset = (self.content_params or {}).get("charset", "utf-8")
        return self.content_type in FORMS and charset.lower().replace("_", "-") not in ("utf-8", "utf8")


handler = get_wsgi_application()
handler.request_class = Utf8Request
