from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from apps.accounts.admin.actors import actor_of
from apps.accounts.admin.filters import PersonFilter
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken
from apps.admin_base import ReadOnlyAdmin


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin[ApiToken]):
    """Never shows the digest, which would help to recognise a token found elsewhere."""

    list_display = ("start", "label", "user", "scope", "expires_at", "last_used_at", "revoked_at")
    list_filter = (
        "scope",
        PersonFilter,
        ("revoked_at", admin.EmptyFieldListFilter),
        ("suspended_at", admin.EmptyFieldListFilter),
        ("last_used_at", admin.EmptyFieldListFilter),
        ("leaked_at", admin.EmptyFieldListFilter),
    )
    list_select_related = ("user",)
    date_hierarchy = "created_at"
    ordering = ("-pk",)
    search_fields = ("start", "user__username")
    search_help_text = "The first characters of a token, or of its owner's user name."
    fields = (
        ("start", "label", "user"),
        ("scope", "namespaces", "only_name"),
        ("created_at", "expires_at", "revoked_at", "suspended_at"),
        ("last_used_at", "last_used_by", "last_used_from"),
        ("leaked_at", "leaked_url"),
    )
    actions = ["revoke"]
    page_actions = {"revoke": "Revoke"}
    csv_columns = (
        "start",
        "label",
        "user__username",
        "scope",
        "only_name",
        "created_at",
        "expires_at",
        "last_used_at",
        "last_used_by",
        "last_used_from",
        "revoked_at",
    )

    def search_condition(self, word: str) -> Q:
        return Q(start__begins=word) | Q(user__username__begins=word)

    def is_offered(self, action: str, row: ApiToken) -> bool:  # noqa: ARG002
        return row.revoked_at is None

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("accounts.revoke_apitoken")

    @admin.action(permissions=["revoke"], description="Revoke selected tokens")
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        actor = actor_of(request)
        self.apply_verb(request, queryset, lambda token: tokens.revoke(token=token, actor=actor), done="Revoked")
