import ipaddress
from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KT
from django.http import HttpRequest

from apps.admin_base import ReadOnlyAdmin
from apps.admin_base.filters import SUGGESTED, WordFilter
from apps.audit.models import AuditEvent

# So many people may bear a name that begins with the word.
PEOPLE_FOUND = 50


def people() -> QuerySet[Any]:
    return get_user_model()._default_manager.all()  # noqa: SLF001  # Django's public name for it


def about(names: QuerySet[Any]) -> Q:
    """What these people did, and what was done to their accounts. Rows hold numbers and no foreign keys (D14)."""
    numbers = list(names.values_list("pk", flat=True)[:PEOPLE_FOUND])
    return Q(actor_id__in=numbers) | Q(subject__in=[f"user/{number}" for number in numbers])


class PersonFilter(WordFilter):
    title = "person"
    parameter_name = "person"

    def suggestions(self) -> Iterable[str]:
        return people().order_by("username").values_list("username", flat=True)[:SUGGESTED]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        name = (self.value() or "").replace("\0", "").strip()
        return queryset.filter(about(people().filter(username=name))) if name else queryset


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin[AuditEvent]):
    list_display = ("at", "kind", "actor", "subject", "address", "token_id", "request_id")
    list_filter = (PersonFilter, "kind")
    date_hierarchy = "at"
    ordering = ("-at", "-pk")
    search_fields = ("subject", "request_id")
    search_help_text = (
        "A person, the beginning of what it happened to (acme/vpc/aws), a network address, or a whole request id."
    )
    fields = ("at", "kind", "actor", "actor_id", "token_id", "subject", "address", "detail", "request_id")
    readonly_fields = ("actor", "address")
    csv_columns = ("at", "kind", "actor_id", "actor_name", "token_id", "subject", "client", "detail", "request_id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEvent]:
        # The names come in the same query.
        named = people().filter(pk=OuterRef("actor_id"))
        return (
            super()
            .get_queryset(request)
            .annotate(actor_name=Subquery(named.values("username")[:1]), client=KT("detail__client"))
        )

    def find(self, word: str) -> Q:
        found = Q(subject__startswith=word) | Q(request_id=word) | about(people().filter(username__startswith=word))
        return found | Q(detail__client=word) if _is_address(word) else found

    @admin.display(description="actor", ordering="actor_id")
    def actor(self, event: Any) -> str:
        if event.actor_id is None:
            return "Larder"
        return event.actor_name or f"account {event.actor_id}, forgotten"

    @admin.display(description="from address")
    def address(self, event: Any) -> str:
        return event.client or "-"


def _is_address(word: str) -> bool:
    try:
        ipaddress.ip_address(word)
    except ValueError:
        return False
    return True
