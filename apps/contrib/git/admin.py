"""Admin pages of Git repositories and their tags. Nothing is edited here: actions call the verbs, owners have pages."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from apps.accounts.access.gate import OPERATE
from apps.accounts.admin.actors import actor_of
from apps.admin_base import Act, Column, ReadOnlyAdmin, badge, is_set, row_link, short
from apps.contrib.git import connecting, syncing, verdicts
from apps.contrib.git.models import GitRepository, Tag, Verdict


def _list_now(owner: Any, request: HttpRequest, queryset: QuerySet[GitRepository]) -> None:
    actor = actor_of(request)
    owner.apply_verb(
        request,
        queryset.select_related("namespace"),
        lambda row: syncing.sync(repository=row, actor=actor),
        done="queued",
    )


def _disconnect(owner: Any, request: HttpRequest, queryset: QuerySet[GitRepository]) -> None:
    actor = actor_of(request)
    owner.apply_verb(
        request, queryset, lambda row: connecting.disconnect(repository=row, actor=actor), done="disconnected"
    )


def _retry(owner: Any, request: HttpRequest, queryset: QuerySet[Tag]) -> None:
    actor = actor_of(request)
    rows = queryset.select_related("repository__namespace")
    owner.apply_verb(request, rows, lambda row: syncing.retry(tag=row, actor=actor), done="queued")


@admin.register(GitRepository)
class GitRepositoryAdmin(ReadOnlyAdmin[GitRepository]):
    names = ("Git repository", "Git repositories")
    list_display = ("title", "namespace", "state", "forge", "credential", "fetched_at", "next_at", "failure_code")
    list_filter = (
        "forge",
        "credential",
        is_set("state", "ended", "ended_at", ("Disconnected", "Connected")),
        is_set("fails", "failing", "failed_at"),
    )
    list_select_related = ("namespace", "user", "created_by")
    search_help_text = "A namespace, or a URL."
    fields = (
        ("url", "namespace", "state"),
        ("forge", "user"),
        ("credential", "credential_facts"),
        ("poll_minutes", "submodules"),
        ("started_at", "ended_at"),
        ("fetched_at", "next_at", "hooked_at"),
        ("failed_at", "failures", "failure_code"),
        "failure",
        "rule_list",
        ("created_by", "created_at"),
    )
    acts = {
        "list_now": Act(
            "List the tags of the selected repositories",
            OPERATE,
            _list_now,
            button="List the tags now",
            offered=lambda row: row.ended_at is None and row.started_at is not None,
        ),
        "disconnect": Act(
            "Disconnect the selected repositories",
            OPERATE,
            _disconnect,
            button="Disconnect",
            offered=lambda row: row.ended_at is None,
            warning="Its tags are no longer published. What is published stays. It can be connected again.",
        ),
    }
    csv_columns = (
        "namespace__name",
        "url",
        "forge",
        "credential",
        "fetched_at",
        "failure_code",
        "created_at",
        "ended_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[GitRepository]:
        return super().get_queryset(request).defer("preview", "log", "sealed_credential", "sealed_hook_secret")

    def search_condition(self, word: str) -> Q:
        return Q(namespace__name=word) | Q(url=word)

    title = Column("repository", lambda row: short(row.url), order="url")
    state = Column("state", lambda row: badge(row.state))
    rule_list = Column("rules", lambda row: ", ".join(map(str, row.rules.order_by("position")[:20])) or "none")


@admin.register(Tag)
class GitTagAdmin(ReadOnlyAdmin[Tag]):
    names = ("Git tag", "Git tags")
    list_display = ("title", "repository_page", "module", "version", "own_verdict", "release_page", "changed_at")
    list_filter = ("verdict",)
    list_select_related = ("repository__namespace", "release__namespace")
    search_help_text = "A tag, or the URL of its repository."
    fields = (
        ("name", "repository_page"),
        ("module", "folder", "version"),
        ("commit", "published_commit", "tag_object"),
        ("own_verdict", "code", "tries"),
        "why",
        "release_page",
        ("seen_at", "changed_at"),
    )
    acts = {
        "retry": Act(
            "Try the selected tags again",
            OPERATE,
            _retry,
            button="Try again",
            offered=lambda row: row.verdict in (Verdict.WAITING, Verdict.REFUSED),
        )
    }
    csv_columns = ("repository__url", "name", "module", "version", "commit", "verdict", "code", "changed_at")

    def search_condition(self, word: str) -> Q:
        return Q(name=word) | Q(repository__url=word)

    title = Column("tag", lambda row: short(row.name), order="name")
    repository_page = Column("repository", lambda row: row_link(row.repository))
    release_page = Column("release", lambda row: row_link(row.release) if row.release else "none")
    own_verdict = Column("verdict", lambda row: badge(row.verdict), order="verdict")
    why = Column("reason", verdicts.reason_of)
