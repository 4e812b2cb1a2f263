"""What every endpoint of the protocol edge shares (D1)."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.authentication import TokenAuthentication, viewer_of
from apps.accounts.identity.negotiation import IgnoreAccept
from apps.lib import bodies
from apps.lib.errors import NotFound
from apps.protocol.errors import exception_handler


class ProtocolView(APIView):
    """One route: token or nobody (cookies do not count), fixed JSON, own error dialect, GET and HEAD only."""

    http_method_names = ["get", "head"]
    authentication_classes = [TokenAuthentication]
    renderer_classes = [JSONRenderer]
    parser_classes = []
    content_negotiation_class = IgnoreAccept

    @property
    def viewer(self) -> Viewer:
        """Whoever asks. Raises AuthenticationFailed for credentials that do not count."""
        return viewer_of(self.request)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        bodies.check(request.META)
        # No name has a NUL byte, and PostgreSQL answers one in a parameter with an error.
        if any("\0" in str(value) for value in kwargs.values()):
            raise NotFound("There is nothing at this address.")

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        return exception_handler

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = super().dispatch(request, *args, **kwargs)
        # Not older than the last publish or the last change of a role: nobody may answer from a copy (D16).
        response.headers.setdefault("Cache-Control", "private, no-cache")
        if not response.headers["Cache-Control"].startswith("public"):
            patch_vary_headers(response, ["Authorization"])
        return response


class Unknown(ProtocolView):
    """What no route knows below a prefix of the protocols: 404 in this dialect, for every method and everybody."""

    authentication_classes = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise NotFound("There is nothing at this address.")
