from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from apps.accounts import creations
from apps.accounts.admin.actors import actor_of, each
from apps.accounts.admin.filters import by_person
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken
from apps.admin_base import Act, Column, ReadOnlyAdmin, is_set, one_of

EarlierRulesFilter = one_of(
    "rules",
    "rules",
    {
        "earlier": (
            "Valid, but could not be created today",
            lambda rows: rows.filter(pk__in=tokens.by_earlier_rules().values("pk")),
        )
    },
)


def revoke_with_creations(admin: Any, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
    actor = actor_of(request)

    def verb(token: ApiToken) -> None:
        found = creations.revoke_with_creations(token=token, actor=actor)
        if found.ended:
            ended = ", ".join(str(one) for one in found.ended)
            admin.message_user(request, f"{token}: ended {ended}.", messages.SUCCESS)
        for one, why in found.kept:
            admin.message_user(request, f"{token}: not ended: {one}. {why} {why.hint}", messages.WARNING)

    admin.apply_verb(request, queryset, verb, done="Revoked")


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin[ApiToken]):
    """Never shows the digest, which would help to recognise a token found elsewhere."""

    names = ("API token", "API tokens")
    list_display = ("start", "label", "user", "limit", "expires_at", "last_used_at", "revoked_at")
    list_filter = (
        "scope",
        EarlierRulesFilter,
        by_person(),
        is_set("revoked", "revoked", "revoked_at"),
        is_set("suspended", "suspended", "suspended_at"),
        is_set("ever used", "used", "last_used_at"),
        is_set("reported as leaked", "leaked", "leaked_at"),
    )
    list_select_related = ("user",)
    search_help_text = "The first characters of a token, or of its owner's user name."
    fields = (
        ("start", "label", "user"),
        ("scope", "namespaces", "only_name"),
        ("created_at", "expires_at", "revoked_at", "suspended_at"),
        ("last_used_at", "last_used_by", "last_used_from"),
        ("leaked_at", "leaked_url"),
        ("created_by_token", "created"),
    )
    acts = {
        "revoke": Act(
            "Revoke selected tokens",
            "accounts.revoke_apitoken",
            each(lambda token, actor: tokens.revoke(token=token, actor=actor), "Revoked"),
            button="Revoke",
            offered=lambda token: token.revoked_at is None,
            warning="Requests with this token are refused immediately. This cannot be undone.",
        ),
        "revoke_with_creations": Act(
            "Revoke selected tokens and undo what they created",
            "accounts.revoke_apitoken",
            revoke_with_creations,
            button="Revoke and undo what it created",
            offered=lambda token: bool(creations.creations_of(token)),
            is_costly=True,
            warning="Requests with this token are refused immediately, and everything it created ends. This cannot be "
            "undone.",
        ),
    }
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

    limit = Column("scope", "scope", order="scope")
    created = Column(
        "created, still active", lambda token: ", ".join(str(one) for one in creations.creations_of(token)) or "-"
    )
