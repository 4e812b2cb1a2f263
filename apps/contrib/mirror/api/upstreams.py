"""/api/v1/upstreams: the registries whose providers are mirrored; staff change them and see how they do."""

from collections.abc import Collection, Iterator
from http import HTTPStatus
from typing import Any

from django.urls import path
from django.views.decorators.debug import sensitive_variables
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField

from apps.accounts.access import operators
from apps.accounts.models import Visibility
from apps.api.frame.base import DRY_RUN, ApiView, DetailView, ListView, listed, operation, shown
from apps.api.frame.shapes import Consequences, MomentField, Shape, With, page
from apps.contrib.mirror import models
from apps.contrib.mirror.asking import connection_values, upstream_facts, upstreams
from apps.contrib.mirror.policy import consequences

_STAFF_ONLY = "null unless the caller is staff."
# What only `sees_operations` reads.
OPERATIONS = (
    *("url", "proxy", "ca", "has_token", "list_seconds", "stale_hours", "quota_bytes", "evict_days"),
    *("terms_accepted_at", "created_at", "by", "health", "storage", "open_alarms", "waiting_keys"),
)


def _number(name: str) -> serializers.IntegerField:
    least, most = upstreams.NUMBERS[name]
    return serializers.IntegerField(required=False, min_value=least, max_value=most)


class UpstreamInput(serializers.Serializer[Any]):
    enabled = serializers.BooleanField(required=False)
    url = serializers.CharField(required=False, allow_blank=True, max_length=connection_values.MAX_CHARACTERS)
    token = serializers.CharField(
        required=False, allow_blank=True, max_length=connection_values.MAX_TOKEN_CHARACTERS, write_only=True
    )
    ca = serializers.CharField(
        required=False, allow_blank=True, trim_whitespace=False, max_length=connection_values.MAX_CA_CHARACTERS
    )
    proxy = serializers.CharField(required=False, allow_blank=True, max_length=connection_values.MAX_CHARACTERS)
    visibility = serializers.ChoiceField(required=False, choices=Visibility.values)
    terraform_only = serializers.BooleanField(required=False)
    sealed = serializers.BooleanField(required=False)
    cooldown_days = _number("cooldown_days")
    list_seconds = _number("list_seconds")
    stale_hours = _number("stale_hours")
    quota_bytes = _number("quota_bytes")
    evict_days = _number("evict_days")


class UpstreamFailure(Shape):
    code = CharField()
    message = CharField()
    url = CharField()
    status = IntegerField(help_text="HTTP status; 0 if there was no response.")
    rule = CharField(help_text="Reason if one of Larder's limits refused it, or empty.")


class UpstreamHealth(Shape):
    # Of an upstream with its facts.
    state = ChoiceField(choices=upstream_facts.STATES)
    failures = IntegerField(help_text="Consecutive failures.")
    open_until = MomentField(allow_null=True, help_text="The circuit breaker blocks requests until then.")
    succeeded_at = MomentField(allow_null=True)
    failed_at = MomentField(allow_null=True)
    failure = UpstreamFailure(allow_null=True, help_text="The last event.")
    oldest_list_at = MomentField(allow_null=True)
    newest_list_at = MomentField(allow_null=True)

    def failure_of(self, upstream: Any) -> Any:
        return upstream.failure or None


class UpstreamStorage(Shape):
    packages = IntegerField()
    bytes = IntegerField()
    providers = IntegerField()


class Upstream(Shape):
    host = CharField()
    enabled = BooleanField(source="is_enabled")
    visibility = ChoiceField(choices=Visibility.values)
    terraform_only = BooleanField()
    sealed = BooleanField(source="is_sealed")
    cooldown_days = IntegerField()
    url = CharField(allow_null=True, help_text=f"Empty means https:// and the host. {_STAFF_ONLY}")
    proxy = CharField(allow_null=True, help_text=_STAFF_ONLY)
    ca = CharField(allow_null=True, help_text=f"PEM. {_STAFF_ONLY}")
    has_token = BooleanField(allow_null=True, help_text=f"The token is never shown. {_STAFF_ONLY}")
    list_seconds = IntegerField(allow_null=True, help_text=_STAFF_ONLY)
    stale_hours = IntegerField(allow_null=True, help_text=_STAFF_ONLY)
    quota_bytes = IntegerField(allow_null=True, help_text=f"0: no limit. {_STAFF_ONLY}")
    evict_days = IntegerField(allow_null=True, help_text=f"0: never. {_STAFF_ONLY}")
    terms_accepted_at = MomentField(allow_null=True, help_text=_STAFF_ONLY)
    created_at = MomentField(allow_null=True, help_text=_STAFF_ONLY)
    by = CharField(allow_null=True, help_text=_STAFF_ONLY)
    health = UpstreamHealth(allow_null=True, help_text=_STAFF_ONLY)
    storage = UpstreamStorage(allow_null=True, help_text=_STAFF_ONLY)
    open_alarms = IntegerField(allow_null=True, help_text=_STAFF_ONLY)
    waiting_keys = IntegerField(allow_null=True, help_text=f"Keys that need a decision. {_STAFF_ONLY}")


class UpstreamView(ApiView):
    def as_seen(self, rows: list[models.Upstream]) -> list[With]:
        """Return the rows as this viewer reads them."""
        if not upstreams.sees_operations(self.viewer):
            return [With(row, **dict.fromkeys(OPERATIONS)) for row in rows]
        facts = upstream_facts.facts_of(rows)
        return [_with_facts(row, facts[row.pk]) for row in rows]

    def operated(self) -> None:
        """Raises what the gate raises."""
        operators.require_everywhere(self.viewer, upstreams.OPERATE)


def _with_facts(row: models.Upstream, facts: upstream_facts.Facts) -> With:
    told = {name: getattr(facts, name) for name in facts.__slots__}
    whole = With(row, **told)
    return With(
        row,
        has_token=bool(row.sealed_token),
        by=row.created_by.shown_name if row.created_by else None,
        health=whole,
        storage=whole,
        open_alarms=facts.open_alarms,
        waiting_keys=facts.waiting_keys,
    )


def described(names: Collection[str] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields of mirrored registries for files that describe them, with the host as the file spells it."""
    shape, unknown = Upstream(), dict.fromkeys(("has_token", "by", "health", "storage", "open_alarms", "waiting_keys"))
    for name, row in upstreams.of_hosts(names):
        yield name, shape.to_representation(With(row, **unknown)) | {"host": name}


class UpstreamList(UpstreamView, ListView):
    get = listed(
        "List the registries whose providers are mirrored",
        page("UpstreamPage", upstreams=Upstream(many=True)),
        public=True,
    )

    def rows(self) -> list[With]:
        return self.as_seen(list(upstreams.visible_to(self.viewer)))


class UpstreamDetail(UpstreamView, DetailView):
    get = shown("Show a mirrored registry", Upstream, public=True)

    def row(self, host: str) -> With:
        return self.as_seen([upstreams.upstream_for(self.viewer, host)])[0]

    @operation(
        "Add or change a mirrored registry (staff)",
        takes=UpstreamInput,
        answers={200: Upstream, 201: Upstream},
        again="200; nothing changes.",
    )
    @sensitive_variables("fields")
    def put(self, request: Request, host: str) -> Response:  # noqa: ARG002
        """Fields that are left out stay; a new upstream is off unless `enabled`. Who enables a registry that has
        terms accepts them.
        """
        self.operated()
        fields = self.body()
        is_new = upstreams.of_host(host) is None
        row = upstreams.change(host, actor=self.viewer, **fields)
        return self.answer(self.row(row.host), HTTPStatus.CREATED if is_new else HTTPStatus.OK)

    @operation(
        "Remove a mirrored registry and everything stored from it (staff)",
        answers={200: Consequences, 204: None},
        query=DRY_RUN,
        again="404.",
    )
    def delete(self, request: Request, host: str) -> Response:  # noqa: ARG002
        """Its pinned keys and digests are forgotten. To keep them, send `{"enabled": false}` with PUT."""
        self.operated()
        if self.is_dry_run():
            return self.answer(consequences.of_removal(upstreams.upstream_for(self.viewer, host)))
        upstreams.remove(host, actor=self.viewer)
        return self.answer(status=HTTPStatus.NO_CONTENT)


urlpatterns = [
    path("upstreams", UpstreamList.as_view(), name="upstreams"),
    path("upstreams/<segment:host>", UpstreamDetail.as_view(), name="upstream"),
]
