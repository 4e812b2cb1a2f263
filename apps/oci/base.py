"""The base of all endpoints under /v2/: the caller, the body of a push, and a challenge that clients can act on."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import reauthorising
from apps.artifacts import names
from apps.artifacts.models import Repository
from apps.audit import generation
from apps.http import ready
from apps.http.errors import Failure, oci_dialect
from apps.http.views import MachineView
from apps.lib.addresses import canonical
from apps.lib.net import bodies
from apps.oci import mirrors, registry_tokens, repositories
from apps.oci.authentication import Caller, RegistryAuthentication

INSUFFICIENT = 'error="insufficient_scope"'
PULL, PUSH, DELETE = "pull", "pull,push", "delete"


class OciView(MachineView):
    # Without OPTIONS, which REST framework answers with a description of its own to everybody.
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    authentication_classes = [RegistryAuthentication]
    has_links = False
    dialect = oci_dialect

    @property
    def caller(self) -> Caller:
        return Caller.of(self.request)

    @property
    def viewer(self) -> Viewer:
        return self.caller.viewer

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse a token of /v2/token that was not granted what this request does, with a challenge that names it.

        The same for all names, before anything is looked up: it tells nothing of what is there.
        """
        super().initial(request, *args, **kwargs)
        if names.is_name(name := kwargs.get("name", "")):
            self.caller.require(name, self.needs())

    def refuse_nul(self, arguments: dict[str, Any]) -> None:
        """Left to what reads names and digests, which says which of them it is."""

    def body_for(self, repository: Repository, *, needs_length: bool = False) -> Iterator[bytes]:
        """The body of a push; after its last byte the caller must still be allowed to push.

        A small body was there before the caller was asked who they are, so that answer came after its last byte.
        """
        if is_bare(self.request) and not needs_length:
            return iter(())
        if self.request.META.get(bodies.ARRIVED):
            return bodies.chunks(self.request.META)
        authorise = partial(repositories.authorise_again, self.caller, repository)
        return reauthorising.authorised_to_the_end(bodies.chunks(self.request.META), authorise)

    def needs(self) -> str:
        """Return the actions that a token must have been granted for this request, separated by commas."""
        if self.request.method in ("GET", "HEAD"):
            return PULL
        return DELETE if self.request.method == "DELETE" else PUSH

    def actions(self) -> str:
        """Return the actions that the challenge asks for."""
        return self.needs()

    def asks_for(self) -> str:
        """Return the scope that the challenge asks for; "" for none. A hostile name gets into no header."""
        name = self.kwargs.get("name", "")
        return f"repository:{name}:{self.actions()}" if names.is_name(name) else ""

    def failure_of(self, error: Exception) -> Failure:
        failure = super().failure_of(error)
        if failure.status == HTTPStatus.BAD_REQUEST and self.request.method == "HEAD":
            # It has no body for the sentence, and clients end at 400. After 404 they go on to a request that has one.
            return replace(failure, status=HTTPStatus.NOT_FOUND)
        return failure

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = super().dispatch(request, *args, **kwargs)
        response.headers["Docker-Distribution-Api-Version"] = "registry/2.0"
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        if response.status_code < HTTPStatus.BAD_REQUEST:
            token = self.viewer.token
            if token is not None and token.expires_soon:
                # oras shows it; tofu, terraform and docker show no warnings.
                ends = f"The API token {token.start}... expires on {token.expires_at:%Y-%m-%d %H:%M} UTC."
                response.headers.setdefault("Warning", warning(ends))
        return response

    def credentials_end(self) -> datetime | None:
        """A token of /v2/token ends earlier than the one behind it."""
        end = super().credentials_end()
        own = registry_tokens.end_of(self.request.META.get("HTTP_AUTHORIZATION", ""))
        return min((one for one in (end, own) if one), default=None)

    def challenge(self, error: Exception) -> str:  # noqa: ARG002
        refused = [INSUFFICIENT] if self.request.auth is not None else []
        return ",".join([challenge_to(self.asks_for()), *refused])


def challenge_to(scope: str) -> str:
    """Bearer, first and alone: a Basic one kills anonymous pulls. Exactly this scope, or clients ask twice."""
    parts = [f'Bearer realm="{settings.PUBLIC_URL}/v2/token"', f'service="{settings.PUBLIC_HOST}"']
    return ",".join([*parts, f'scope="{scope}"'] if scope else parts)


class ReadyInRepository:
    """A view whose answers depend on the namespace of the repository in its path, or on one provider elsewhere."""

    kwargs: dict[str, Any]
    viewer: Any  # of the view
    seconds = ready.LONGEST

    def ready_seconds(self) -> float:
        return self.seconds

    def ready_scopes(self) -> Collection[str] | None:
        address = names.parse_name(self.kwargs["name"])
        if isinstance(address, names.ProviderMirror) and (hosted := mirrors.hosted(address)) is not None:
            return {generation.published_at(str(hosted))}
        namespace = _namespace_of(address)
        return {canonical(namespace), generation.published_in(namespace)}

    def readers(self) -> str:
        """The group of readers that get the same answer: all, except those whose token expires soon, who are warned.

        What scopes a token of /v2/token was granted, the front looks at itself (registry_site/front/oci.py).
        """
        address, token = names.parse_name(self.kwargs["name"]), self.viewer.token
        is_elsewhere = isinstance(address, names.ProviderMirror) and mirrors.hosted(address) is not None
        if is_elsewhere or (token is not None and token.expires_soon):
            return ""
        return canonical(_namespace_of(address))


def _namespace_of(address: names.RepositoryAddress | names.ProviderMirror) -> str:
    return (address.address if isinstance(address, names.ProviderMirror) else address).namespace


def warning(sentence: str) -> str:
    """Clients read one warning in one header."""
    return f'299 - "{sentence}"'


def is_bare(request: Request) -> bool:
    """Return whether neither a length nor a transfer coding announces a body (RFC 9112, 6.3)."""
    length = bodies.declared_length(request.META)
    return length == 0 or (length is None and not request.META.get("wsgi.input_terminated"))
