from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest

from apps.admin_base import ReadOnlyAdmin
from apps.audit.models import AuditEvent


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin[AuditEvent]):
    list_display = ("at", "kind", "actor", "subject", "token_id", "request_id")
    list_filter = ("kind",)
    date_hierarchy = "at"
    ordering = ("-at", "-pk")
    sortable_by = ("at",)
    search_fields = ("subject", "request_id")
    search_help_text = "The beginning of an address, or a whole request id."
    fields = ("at", "kind", "actor", "actor_id", "token_id", "subject", "detail", "request_id")
    readonly_fields = ("actor",)
    csv_columns = ("at", "kind", "actor_id", "actor_name", "token_id", "subject", "detail", "request_id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEvent]:
        # Rows hold no foreign key (D14): the names come in the same query.
        people = get_user_model()._default_manager.filter(pk=OuterRef("actor_id"))  # noqa: SLF001  # Django's public name for it
        return super().get_queryset(request).annotate(actor_name=Subquery(people.values("username")[:1]))

    def find(self, word: str) -> Q:
        return Q(subject__startswith=word) | Q(request_id=word)

    @admin.display(description="actor")
    def actor(self, event: Any) -> str:
        if event.actor_id is None:
            return "Larder"
        return event.actor_name or f"account {event.actor_id}, forgotten"
