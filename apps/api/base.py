"""What every endpoint of Larder's own API shares (D1)."""

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
from apps.api.errors import exception_handler
from apps.lib import bodies
from apps.lib.errors import CredentialsRequired, NotFound


class ApiView(APIView):
    """One route: token or nobody (session cookies do not count), JSON answers, own error dialect."""

    http_method_names = ["get", "head", "put"]
    authentication_classes = [TokenAuthentication]
    renderer_classes = [JSONRenderer]
    parser_classes = []
    content_negotiation_class = IgnoreAccept

    @property
    def viewer(self) -> Viewer:
        return viewer_of(self.request)

    def require_token(self) -> None:
        """For writes: the same 401 whatever the address, before anything else is looked at."""
        if not self.viewer.is_identified:
            raise CredentialsRequired("This needs an API token.")

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
        response.headers.setdefault("Cache-Control", "private, no-cache")
        patch_vary_headers(response, ["Authorization"])
        return response


class Unknown(ApiView):
    """What no route knows below the API's prefix: 404 in its dialect, for every method and everybody."""

    authentication_classes = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise NotFound("There is nothing at this address.")
