"""Answers for a web server or a follower that serves the static copy: who may read which namespace.

Both remember the answer, with its bounds: `max-age` for as long as it counts, `stale-if-error` for as long as it counts
while Larder is away. A refusal is remembered too, for a second: nginx would otherwise keep the permission that came
before it, and use it again as soon as Larder is away.
"""

from collections.abc import Collection
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access.gate import namespace_for
from apps.contrib.copy.edge import links
from apps.http import mirrors
from apps.http.errors import Failure
from apps.http.waits import WaitingView
from apps.lib.addresses import canonical
from apps.lib.errors import NotFound
from apps.protocol.base import ProtocolView

READER, LINK = "X-Larder-Reader", "X-Larder-Link"
REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class Authorise(WaitingView, ProtocolView):
    """`?scope=<namespace>`, or `<host>/<namespace>` of the mirror: 200, 401 or 403, as `auth_request` wants."""

    def get(self, request: Request) -> HttpResponse:
        scope, now = request.GET.get("scope", ""), timezone.now()
        if not links.is_scope(scope):
            raise NotFound(f"The scope is {scope[:80]!a}, expected a namespace, or a host and a namespace.")
        of_packages = self._require_readable(scope)
        edge, token = settings.COPY_EDGE, self.viewer.token
        fresh, stale = edge.fresh_seconds, edge.stale_hours * links.HOUR
        if token is not None and token.expires_at is not None:
            left = max(0, int((token.expires_at - now).total_seconds()))
            fresh, stale = min(fresh, left), min(stale, left)
        headers = {
            "Cache-Control": f"max-age={fresh}, stale-if-error={stale}",
            "Vary": "Authorization",
            READER: str(self.viewer.user_id or ""),
        }
        if edge.secret:
            headers[LINK] = links.prefix_for(of_packages, now=now, secret=edge.secret)
        return HttpResponse(status=HTTPStatus.OK, headers=headers)

    def _require_readable(self, scope: str) -> str:
        """Return the scope of the packages that the documents lead to. Raises CredentialsRequired or NotFound."""
        host, _, name = scope.rpartition("/")
        if not host or host in settings.HOSTNAMES:
            namespace_for(self.viewer, name, spelled=canonical)
            return name
        if mirrors.others is None:
            raise NotFound(f"This mirror has no providers of {host[:80]!r}.")
        mirrors.others.require_visible(self.asker(self.viewer), host)
        return scope

    def failure_of(self, error: Exception) -> Failure:
        failure = super().failure_of(error)
        if failure.status == HTTPStatus.NOT_FOUND:
            return Failure(HTTPStatus.FORBIDDEN, failure.code, failure.message, failure.hint)
        return failure

    def answer_exception(self, error: Exception, context: dict[str, Any]) -> Response:
        response = super().answer_exception(error, context)
        if response.status_code in REFUSED:
            response.headers["Cache-Control"] = "max-age=1"
            response.headers["Vary"] = "Authorization"
        return response

    def ready_scopes(self) -> Collection[str] | None:
        scope = self.request.GET.get("scope", "")
        return None if "/" in scope else {canonical(scope)}


class Link(ProtocolView):
    """A link to a package that the web server does not answer: it has ended, or the copy has the package no more."""

    authentication_classes = []

    def get(self, request: Request, path: str) -> HttpResponse:  # noqa: ARG002
        if not links.opened_by(request.path, now=timezone.now(), secret=settings.COPY_EDGE.secret):
            raise links.LinkRefused
        raise NotFound("This package is no longer served.")
