"""What every endpoint under /v2/ shares (D1): no parsers, one renderer, and a challenge that clients can act on."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import reauthorising
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.negotiation import IgnoreAccept
from apps.artifacts import names
from apps.artifacts.models import Repository
from apps.lib import bodies
from apps.oci import repositories
from apps.oci.authentication import Caller, RegistryAuthentication, caller_of
from apps.oci.errors import exception_handler

PULL, PUSH, DELETE = "pull", "pull,push", "delete"


class OciView(APIView):
    """One route under /v2/. Cookies do not count."""

    # Without OPTIONS, which REST framework answers with a description of its own to everybody.
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    authentication_classes = [RegistryAuthentication]
    renderer_classes = [JSONRenderer]
    parser_classes = []
    content_negotiation_class = IgnoreAccept

    @property
    def caller(self) -> Caller:
        return caller_of(self.request)

    @property
    def viewer(self) -> Viewer:
        return self.caller.viewer

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        bodies.check(request.META)

    def body_for(self, repository: Repository, *, needs_length: bool = False) -> Iterator[bytes]:
        """The body of a push; after its last byte the caller must still be allowed to push."""
        if is_bare(self.request) and not needs_length:
            return iter(())
        authorise = partial(repositories.authorise_again, self.caller, repository)
        return reauthorising.authorised_to_the_end(bodies.chunks(self.request.META), authorise)

    def actions(self) -> str:
        """The actions that the challenge asks for: what this method needs."""
        if self.request.method in ("GET", "HEAD"):
            return PULL
        return DELETE if self.request.method == "DELETE" else PUSH

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        return exception_handler

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = super().dispatch(request, *args, **kwargs)
        response.headers["Docker-Distribution-Api-Version"] = "registry/2.0"
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("Cache-Control", "private, no-cache")
        if response.status_code == 401:  # noqa: PLR2004
            response.headers["WWW-Authenticate"] = self.challenge(kwargs.get("name", ""))
        patch_vary_headers(response, ["Authorization"])
        return response

    def challenge(self, name: str) -> str:
        """Bearer, first and alone: a Basic one kills anonymous pulls. Exactly this scope, or clients ask twice."""
        realm = f"{settings.PUBLIC_URL}/v2/token"
        parts = [f'Bearer realm="{realm}"', f'service="{settings.PUBLIC_HOST}"']
        if names.is_name(name):  # nothing else gets into a header
            parts.append(f'scope="repository:{name}:{self.actions()}"')
        if self.request.auth is not None:
            parts.append('error="insufficient_scope"')
        return ",".join(parts)


def is_bare(request: Request) -> bool:
    """Whether neither a length nor a transfer coding announces a body (RFC 9112, 6.3)."""
    length = bodies.declared_length(request.META)
    return length == 0 or (length is None and not request.META.get("wsgi.input_terminated"))
