"""/api/v1/audit and /api/v1/namespaces/<ns>/audit: who did what, for staff who may view it and for owners."""

from typing import Any

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from rest_framework.request import Request
from rest_framework.serializers import CharField, DictField, IntegerField, JSONField

from apps.accounts.access import gate, operators
from apps.accounts.models import Role
from apps.api.frame import base
from apps.api.frame.base import ApiView, operation
from apps.api.frame.shapes import OffsetField, Shape, page
from apps.audit import reading
from apps.audit.kinds import Kind
from apps.lib.errors import Invalid

_QUERY = {
    "kind": "Only this kind of event.",
    "person": "Only this person's actions, and changes to their account.",
    "since": "A day (2026-01-31) or a time, which is included.",
    "until": "A day, which is included, or a time, which is not.",
    "format": "All matching events as a file, oldest first.",
} | base.CURSOR
_ASKED: dict[str, Any] = {
    "query": _QUERY,
    "choices": {"kind": Kind.values, "format": list(reading.CONTENT_TYPES)},
    "files": [kind.partition(";")[0] for kind in reading.CONTENT_TYPES.values()],
    "limits": ["export"],
}


class Actor(Shape):
    id = IntegerField(source="actor_id")
    name = CharField(source="actor_name", allow_null=True, help_text="null if the person was erased.")


class Event(Shape):
    # Of an event of `reading.page`.
    id = IntegerField(source="pk")
    at = OffsetField()
    kind = CharField()
    actor = Actor(allow_null=True, help_text="null for Larder itself and for people who are not signed in.")
    token_id = IntegerField(allow_null=True)
    address = CharField()
    subject = CharField()
    detail = DictField(child=JSONField())
    request_id = CharField()

    def actor_of(self, event: Any) -> Any:
        return None if event.actor_id is None else event


EventPage = page("EventPage", events=Event(many=True))


class AuditView(ApiView):
    """Pages, the newest event first, or a file."""

    def events(self, request: Request, events: reading.Events) -> HttpResponseBase:
        query = request.query_params
        events = reading.Filter.from_query(query).of(events)
        form = query.get("format", "")
        if form in reading.CONTENT_TYPES:
            self.count("export")
            return StreamingHttpResponse(reading.export(events, form), content_type=reading.CONTENT_TYPES[form])
        if form:
            raise Invalid(f"There is no format “{form[:40]}”.", hint=f"Ask for {' or '.join(reading.CONTENT_TYPES)}.")
        rows, cursor = reading.page(events, cursor=query.get("cursor", ""), size=base.PAGE_SIZE)
        return self.answer({"events": rows, "next": base.next_page(request, cursor) if cursor else None})


class AuditList(AuditView):
    @operation("Read the audit (staff)", answers={200: EventPage}, scope="manage", **_ASKED)
    def get(self, request: Request) -> HttpResponseBase:
        operators.require_everywhere(self.viewer, "audit.view_auditevent")
        return self.events(request, reading.everything())


class NamespaceAudit(AuditView):
    @operation("Read the audit of a namespace (owners)", answers={200: EventPage}, scope="manage", **_ASKED)
    def get(self, request: Request, namespace: str) -> HttpResponseBase:
        row = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        return self.events(request, reading.of_namespace(row.canonical, since=row.created_at))


urlpatterns = [
    path("audit", AuditList.as_view(), name="audit"),
    path("namespaces/<segment:namespace>/audit", NamespaceAudit.as_view(), name="namespace-audit"),
]
