"""/api/v1/audit and /api/v1/namespaces/<ns>/audit: who did what, for staff who may view it and for owners."""

from typing import Any

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate, operators, throttling
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.api.frame import paging, shapes
from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation
from apps.audit import reading
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent, AuditEventQuerySet
from apps.lib.errors import Invalid

_QUERY = {
    "kind": "Only this kind of event.",
    "person": "Only what this person did, or what was done to their account.",
    "since": "A day (2026-01-31) or a time, which is included.",
    "until": "A day, which is included, or a time, which is not.",
    "format": "Everything that matches as a file, the oldest first.",
} | paging.CURSOR
_ASKED: dict[str, Any] = {
    "query": _QUERY,
    "choices": {"kind": Kind.values, "format": list(reading.CONTENT_TYPES)},
    "files": [kind.partition(";")[0] for kind in reading.CONTENT_TYPES.values()],
}


class AuditList(ApiView):
    """Pages, the newest event first, or a file."""

    http_method_names = ["get", "head"]

    @operation("Read the audit (staff)", answers={200: shapes.EventPage}, scope="manage", **_ASKED)
    def get(self, request: Request) -> HttpResponseBase:
        self.require_token()
        operators.require_everywhere(self.viewer, "audit.view_auditevent")
        return _answer(request, self.viewer, AuditEvent.objects.all())


class NamespaceAudit(ApiView):
    http_method_names = ["get", "head"]

    @operation("Read the audit of a namespace (owners)", answers={200: shapes.EventPage}, scope="manage", **_ASKED)
    def get(self, request: Request, namespace: str) -> HttpResponseBase:
        self.require_token()
        row = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        return _answer(request, self.viewer, reading.of_namespace(row.canonical, since=row.created_at))


def _answer(request: Request, viewer: Viewer, events: AuditEventQuerySet) -> HttpResponseBase:
    query = request.query_params
    events = reading.Filter.from_query(query).of(events)
    form = query.get("format", "")
    if form in reading.CONTENT_TYPES:
        throttling.count(throttling.by_account("export", viewer.user_id, ""))
        return StreamingHttpResponse(reading.export(events, form), content_type=reading.CONTENT_TYPES[form])
    if form:
        raise Invalid(f"There is no format “{form[:40]}”.", hint=f"Ask for {' or '.join(reading.CONTENT_TYPES)}.")
    rows, cursor = reading.page(events, cursor=query.get("cursor", ""), size=paging.PAGE_SIZE)
    following = paging.next_page(request, cursor) if cursor else None
    return Response({"events": [reading.document_of(event) for event in rows], "next": following})


urlpatterns = [
    path("audit", AuditList.as_view(), name="audit"),
    path("namespaces/<segment:namespace>/audit", NamespaceAudit.as_view(), name="namespace-audit"),
]
