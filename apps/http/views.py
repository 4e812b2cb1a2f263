"""The base view of the machine edges (D1): token or anonymous, one renderer, no parsers, own error dialect."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from http import HTTPStatus
from math import inf
from typing import Any, ClassVar
from urllib.parse import parse_qs

import structlog
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import slots
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Visibility
from apps.audit import generation
from apps.blobs import capabilities
from apps.http import errors, ready
from apps.http.authentication import TokenAuthentication, viewer_of
from apps.http.errors import Dialect, Failure
from apps.jobs import waiting
from apps.jobs.waiting import Waiting
from apps.lib.addresses import canonical
from apps.lib.digests import counted
from apps.lib.errors import Invalid, NotFound, UnknownOrPrivate
from apps.lib.net import bodies
from apps.releases.catalogue import downloads

CHALLENGE = 'Bearer realm="Larder"'
MAX_FORM_BYTES = 64 * 1024
# Of a link in a document that is repeated while the database is away, so much is left at least.
TIME_TO_FETCH = timedelta(minutes=2)
_MAX_FIELDS = 200


class IgnoreAccept(BaseContentNegotiation):
    """Clients send no Accept, one for archives, or six lines of it (skopeo). Endpoints read bodies themselves, in
    chunks, after the token and the rights are checked (D2).
    """

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> None:
        """No parser."""

    def select_renderer(
        self,
        request: Request,  # noqa: ARG002
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,  # noqa: ARG002
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class MachineView(APIView):
    """One route. Session cookies do not count."""

    authentication_classes = [TokenAuthentication]
    renderer_classes = [JSONRenderer]
    parser_classes = []
    content_negotiation_class = IgnoreAccept
    dialect: ClassVar[Dialect]
    # How long a request may wait for a slot of its account, without a thread; 0 where it has none.
    slot_seconds = 0.0
    # What an earlier call of this request asked for.
    resumed: Waiting | None = None
    counted: ready.Download | None = None
    # To bytes: they end, and with them the answer.
    has_links = True
    # When the answer changes by itself: a release leaves its cool-down.
    ready_until: datetime | None = None

    @property
    def viewer(self) -> Viewer:
        """Raises AuthenticationFailed for invalid credentials."""
        return viewer_of(self.request)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # Before anything fails: whoever leaves it there is called again and again.
        self.resumed = request.META.pop(waiting.ASKED, None)
        if self.slot_seconds and request.META.get(waiting.OFFERED):
            slots.may_wait(self.slot_seconds)
        super().initial(request, *args, **kwargs)
        bodies.check(request.META)
        self.refuse_nul(kwargs)

    def refuse_nul(self, arguments: dict[str, Any]) -> None:
        """No name has a NUL byte, and PostgreSQL fails on one in a parameter."""
        if any("\0" in str(value) for value in arguments.values()):
            raise nothing_here()

    def failure_of(self, error: Exception) -> Failure:
        return errors.failure_of(error, self.request)

    def challenge(self, error: Exception) -> str:
        described = f', error_description="{error}"' if isinstance(error, UnknownOrPrivate) else ""
        return f"{CHALLENGE}{described}"

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        return self.answer_exception

    def answer_exception(self, error: Exception, context: dict[str, Any]) -> Response:  # noqa: ARG002
        """Answers every exception, so that none becomes a page."""
        if isinstance(error, slots.NoSlot) and error.waiting is not None:
            self.request.META[waiting.ASKED] = error.waiting
        failure = self.failure_of(error)
        response = Response(type(self).dialect(failure), status=failure.status, headers=getattr(error, "headers", None))
        response.headers["Cache-Control"] = "no-store"
        if failure.status == HTTPStatus.UNAUTHORIZED:
            response.headers["WWW-Authenticate"] = self.challenge(error)
        if failure.status in errors.RETRY_AFTER:
            retry_after = getattr(error, "retry_after", errors.RETRY_AFTER[failure.status])
            response.headers["Retry-After"] = str(retry_after)
        return response

    def ready_scopes(self) -> Collection[str] | None:
        """Return the scopes of the generation on which the answer depends if the front may repeat it (D16)."""
        return None

    def ready_seconds(self) -> float:
        """Return for how long the answer holds without a change."""
        return ready.LONGEST

    def readers(self) -> str:
        """Return the canonical name of a namespace if all of its readers get the same answer."""
        return ""

    def credentials_end(self) -> datetime | None:
        token = self.viewer.token
        return token.expires_at if token is not None else None

    def count_download(self, release_id: int) -> None:
        """Count this answer as a download, and again each time the front repeats it. HEAD is none."""
        if self.request.method == "GET":
            structlog.contextvars.bind_contextvars(release_id=release_id)  # for the access line
            self.counted = ready.Download(release_id, self.viewer.user_id, self.viewer.token_id)
            client = downloads.client_of(self.request.headers.get("User-Agent", ""))
            downloads.record_download(release_id, self.viewer.user_id, client, self.viewer.token_id)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        asked_at = timezone.now()
        response = super().dispatch(request, *args, **kwargs)
        # Answers must reflect the last publish and the last change of a role: no caches (D16).
        response.headers.setdefault("Cache-Control", "private, no-cache")
        if not response.headers["Cache-Control"].startswith("public"):
            patch_vary_headers(response, ["Authorization"])
        is_read = request.method in ("GET", "HEAD")
        if not is_read or response.status_code not in (HTTPStatus.OK, HTTPStatus.NOT_MODIFIED):
            return response
        if (scopes := self.ready_scopes()) is not None:
            ends = [capabilities.same_until(asked_at)]
            ends += [self.ready_until] if self.ready_until else []
            end = self.credentials_end() if self.request.auth is not None else None
            if self.request.auth is not None:
                scopes = {*scopes, generation.ACCESS}
                ends += [end] if end else []
            seconds = min(ready.LONGEST, self.ready_seconds(), (min(ends) - asked_at).total_seconds())
            found = ready.Ready(scopes, seconds, self.counted, self.readers())
            if settings.SERVE_STALE_SECONDS:
                found = self._for_outages(found, asked_at, end)
            ready.mark(response, found)
        return response

    def _for_outages(self, found: ready.Ready, asked_at: datetime, end: datetime | None) -> ready.Ready:
        """Add what the front needs to know to repeat the answer while the database is away."""
        namespace = Namespace.objects.filter(canonical=found.readers).first() if found.readers else None
        visibility = namespace.visibility if namespace else ""
        # Public documents have links that do not end.
        is_lasting = visibility == Visibility.PUBLIC or not self.has_links
        ends = [] if is_lasting else [capabilities.valid_until(asked_at) - TIME_TO_FETCH]
        ends += [self.ready_until] if self.ready_until else []
        own = self.ready_seconds()
        return replace(
            found,
            true_for=min(own if own < ready.LONGEST else inf, *((one - asked_at).total_seconds() for one in ends), inf),
            credentials_for=(end - asked_at).total_seconds() if end else inf,
            visibility=visibility,
        )


class ReadyInNamespace:
    """A view whose answers depend on the namespace of its path, or on all of them where it names none."""

    kwargs: dict[str, Any]

    def ready_scopes(self) -> Collection[str] | None:
        namespace = self.kwargs.get("namespace")
        if namespace is None:
            return {generation.ANYTHING}
        return {canonical(namespace), generation.published_in(namespace)}


class ReadyAtAddress:
    """A view whose answers depend on its namespace and on the versions of one module or provider, and on no others."""

    kwargs: dict[str, Any]

    def ready_scopes(self) -> Collection[str] | None:
        names = [self.kwargs[part] for part in ("namespace", "name", "system", "type") if part in self.kwargs]
        return {canonical(names[0]), generation.published_at("/".join(names))}


class SameForReaders(ReadyAtAddress):
    """Such a view whose answers do not depend on who asks, only on whether they may read the namespace."""

    def readers(self) -> str:
        return canonical(self.kwargs["namespace"])


class NothingHere(MachineView):
    """Any other path below a prefix: 404 in the dialect of its edge, for every method and everyone."""

    authentication_classes = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002
        raise nothing_here()


def nothing_here() -> NotFound:
    return NotFound("There is nothing at this address.")


def read_form(request: Request) -> dict[str, list[str]]:
    """Read the form in the body of a request. Raises Invalid, or TooLarge."""
    pieces = counted(bodies.chunks(request.META), limit=MAX_FORM_BYTES, what="The form")
    return fields_of(b"".join(pieces).decode(errors="replace"))


def fields_of(text: str) -> dict[str, list[str]]:
    """Raises Invalid."""
    try:
        return parse_qs(text, max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise Invalid(
            f"The request has more than {_MAX_FIELDS} parameters.", hint="Send fewer parameters in one request."
        ) from None
