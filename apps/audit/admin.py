from contextlib import suppress
from functools import reduce
from ipaddress import ip_address
from operator import or_
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from apps.admin_base import Column, ReadOnlyAdmin, words
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.audit.reading import about, by_or_about, name_subjects, people, with_actors

REQUEST_ID_SHOWN = 8
_LABELS = dict(Kind.choices)


def _of_person(name: str) -> Q:
    found = list(people().filter(username=name).order_by("api_tokens__pk").values_list("pk", "api_tokens__pk"))
    if not found:
        return Q(pk__in=())
    return reduce(or_, by_or_about(found[0][0], tokens=[token for _, token in found if token is not None]))


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin[AuditEvent]):
    list_display = ("at", "event", "actor", "about", "from_address", "token_id", "request")
    list_filter = (
        words(
            "person",
            "person",
            _of_person,
            lambda: people().order_by("username").values_list("username", flat=True),
        ),
        "kind",
    )
    date_hierarchy = "at"
    ordering = ("-at", "-pk")
    indexed_orders = ("subject",)
    search_help_text = "A person, the beginning of an address (acme/vpc/aws), a network address, or a whole request id."
    fields = ("at", "kind", "actor", "actor_id", "token_id", "about", "from_address", "detail", "request_id")
    readonly_fields = ("actor", "about", "from_address")
    csv_columns = ("at", "kind", "actor_id", "actor_name", "token_id", "subject", "address", "detail", "request_id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEvent]:
        return with_actors(super().get_queryset(request))

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        page = super().get_changelist_instance(request)
        page.result_list = name_subjects(page.result_list)
        return page

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> AuditEvent | None:
        event = super().get_object(request, object_id, from_field)
        return name_subjects([event])[0] if event is not None else None

    def search_condition(self, word: str) -> Q:
        people_named = about(people().filter(username__begins=word))
        found = reduce(or_, people_named, Q(subject__begins=word) | Q(request_id=word))
        with suppress(ValueError):
            ip_address(word)
            return found | Q(address=word)
        return found

    # Of the field itself Django would expand all 151 choices for each row.
    event = Column("kind", lambda event: _LABELS.get(event.kind, event.kind), order="kind")

    @admin.display(description="actor", ordering="actor_id")
    def actor(self, event: Any) -> str:
        if event.actor_id is None:
            return "Larder"
        return event.actor_name or f"account {event.actor_id}, erased"

    about = Column(
        "subject",
        lambda event: f"{event.subject_name} ({event.subject})" if event.subject_name else event.subject,
        order="subject",
    )

    @admin.display(description="request id", ordering="request_id")
    def request(self, event: AuditEvent) -> str:
        shown = event.request_id[:REQUEST_ID_SHOWN]
        return format_html('<code title="{}">{}</code>', event.request_id, shown) if shown else "-"

    from_address = Column("from address", lambda event: event.address or "-")
