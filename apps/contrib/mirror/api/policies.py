"""/api/v1/upstreams/<host>/policies: the rules for versions of another registry, their dry run, and the exceptions.

Staff read them, staff with the permission to operate upstreams change them.
"""

from collections.abc import Collection, Iterator
from http import HTTPStatus
from itertools import groupby
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, ListField

from apps.api.frame.base import DRY_RUN, ApiView, DetailView, ListView, listed, operation, shown
from apps.api.frame.shapes import Consequences, MomentField, Shape, With, page
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import Effect, PolicyException, Upstream, UpstreamVersion
from apps.contrib.mirror.policy import advisories, consequences, policy_exceptions, rulebook
from apps.contrib.mirror.policy.rulebook import Change, DryRun
from apps.contrib.mirror.records import modules
from apps.lib.errors import Invalid


class PolicyRuleInput(serializers.Serializer[Any]):
    # `upstream.policies` validates each, with the same error on every way in.

    pattern = serializers.CharField(max_length=130)
    effect = serializers.ChoiceField(choices=Effect.values)
    days = serializers.IntegerField(required=False)
    versions = serializers.CharField(required=False, allow_blank=True)
    platforms = serializers.ListField(required=False, child=serializers.CharField(max_length=60))
    advisories_only = serializers.BooleanField(required=False)
    reason = serializers.CharField(required=False, allow_blank=True)


class PolicyInput(serializers.Serializer[Any]):
    rules = serializers.ListField(child=PolicyRuleInput(), max_length=rulebook.MAX_RULES)
    cooldown_days = serializers.IntegerField(required=False)


class DryRunInput(serializers.Serializer[Any]):
    """Omitted fields stay unchanged."""

    rules = serializers.ListField(required=False, child=PolicyRuleInput(), max_length=rulebook.MAX_RULES)
    cooldown_days = serializers.IntegerField(required=False)


class ExceptionInput(serializers.Serializer[Any]):
    provider = serializers.CharField(max_length=130, required=False, help_text="namespace/type.")
    module = serializers.CharField(
        max_length=200, required=False, help_text="For a module instead of a provider: namespace/name/system."
    )
    version = serializers.CharField(max_length=128)
    reason = serializers.CharField(allow_blank=True)
    expires_at = serializers.DateTimeField()


class PolicyRule(Shape):
    position = IntegerField(help_text="Starts at 1. The first rule that matches decides.")
    pattern = CharField(help_text="hashicorp/*, */random, hashicorp/random or *.")
    effect = ChoiceField(choices=Effect.values)
    days = IntegerField(help_text="Days of the cool-down; 0 for none.")
    versions = CharField(help_text="A range such as >= 5.0, < 6.0. Empty for all versions.")
    platforms = ListField(child=CharField(), help_text="Only these, such as linux_amd64; empty for all.")
    advisories_only = BooleanField(help_text="Match only versions that an advisory names.")
    reason = CharField()
    by = CharField(source="created_by.shown_name", allow_null=True)


class AdvisoryProblem(Shape):
    file = CharField()
    message = CharField()


class Policy(Shape):
    host = CharField()
    cooldown_days = IntegerField(help_text="For versions that no rule matches.")
    rules = PolicyRule(many=True)
    advisory_files = IntegerField(help_text="File in LARDER_UPSTREAM_ADVISORIES.")
    advisory_problems = AdvisoryProblem(many=True, help_text="Files that could not be read or understood.")


class VersionException(Shape):
    id = IntegerField(source="pk")
    provider = CharField(allow_null=True, help_text="namespace/type; null for a module.")
    module = CharField(allow_null=True, help_text="namespace/name/system; null for a provider.")
    version = CharField(source="number")
    reason = CharField()
    expires_at = MomentField()
    created_at = MomentField()
    withdrawn_at = MomentField(allow_null=True)
    by = CharField(source="created_by.shown_name", allow_null=True)
    in_force = BooleanField()

    def provider_of(self, row: PolicyException) -> str | None:
        return None if row.module else row.address

    def module_of(self, row: PolicyException) -> str | None:
        return row.module or None

    def in_force_of(self, row: PolicyException) -> bool:
        return row.withdrawn_at is None and row.expires_at > timezone.now()


class PolicyChange(Shape):
    version = CharField(source="version.version")
    becomes = ChoiceField(choices=["hidden", "shown"])
    platforms = ListField(child=CharField(), help_text="Limits it to these platforms. Empty for the whole version.")
    rule = CharField(source="after.rule", help_text="The rule that decides after the change.")
    former_rule = CharField(source="before.rule", help_text="The rule that decides now.")
    available_at = MomentField(
        source="after.available_at",
        allow_null=True,
        help_text="When the version that becomes hidden appears again; null if it does not.",
    )

    def becomes_of(self, change: Change) -> str:
        return "shown" if change.after.is_visible else "hidden"


class ProviderChanges(Shape):
    provider = CharField()
    changes = PolicyChange(many=True)


class PolicyDryRun(Shape):
    checked_providers = IntegerField(source="row.providers")
    checked_versions = IntegerField(source="row.versions")
    hidden = IntegerField(help_text="Versions that would no longer be visible.")
    shown = IntegerField(help_text="Versions that would become visible.")
    hidden_platforms = IntegerField(help_text="Versions that would lose some of their platforms.")
    shown_platforms = IntegerField(help_text="Versions that would gain platforms.")
    complete = BooleanField(source="is_complete", help_text="false: `providers` lists only the first changes.")
    providers = ProviderChanges(many=True, source="by_provider")


class PolicyDetail(DetailView):
    get = shown("Show the policy of a mirrored registry (staff)", Policy, scope="manage")

    def row(self, host: str) -> With:
        return _policy(rulebook.place(self.viewer, host))

    @operation(
        "Replace the policy of a mirrored registry (staff)",
        takes=PolicyInput,
        answers={200: Policy},
        again="Changes nothing.",
    )
    def put(self, request: Request, host: str) -> Response:  # noqa: ARG002
        """All rules in their order. `cooldown_days` stays as it is if it is left out. Applies to lists and downloads
        of the next request.
        """
        upstream = rulebook.place(self.viewer, host, changes=True)
        rulebook.change(upstream, actor=self.viewer, **self.body())
        return self.answer(_policy(upstream))


class DryRunView(ApiView):
    @operation(
        "Dry run of a policy (staff)",
        takes=DryRunInput,
        answers={200: PolicyDryRun},
        again="Changes nothing.",
        idempotent=True,
    )
    def post(self, request: Request, host: str) -> Response:  # noqa: ARG002
        """Return the known versions that a change would hide or show, with the deciding rule and the date. Changes
        nothing.
        """
        upstream = rulebook.place(self.viewer, host)
        run = rulebook.dry_run(upstream, now=timezone.now(), **self.body())
        return self.answer(With(run, by_provider=_by_provider(run)))


class ExceptionList(ListView):
    get = listed(
        "List the exceptions of a mirrored registry (staff)",
        page("ExceptionPage", exceptions=VersionException(many=True)),
        scope="manage",
    )

    def rows(self, host: str) -> QuerySet[PolicyException]:
        return policy_exceptions.of(rulebook.place(self.viewer, host))

    @operation(
        "Allow one version (staff)",
        takes=ExceptionInput,
        answers={201: VersionException},
        again="Creates another exception.",
    )
    def post(self, request: Request, host: str) -> Response:  # noqa: ARG002
        """Whatever the rules say, until `expires_at`. Name a `provider` (`namespace/type`) or a `module`
        (`namespace/name/system`). Trust is not affected.
        """
        upstream = rulebook.place(self.viewer, host, changes=True)
        fields = self.body()
        if ("provider" in fields) == ("module" in fields):
            raise Invalid("Found both or neither, expected a provider or a module.", hint="Send one of the two.")
        version: UpstreamVersion | policy_exceptions.ModuleVersion
        if "module" in fields:
            version = modules.known_version(upstream, module=fields["module"], version=fields["version"])
        else:
            namespace, _, type_ = fields["provider"].partition("/")
            version = policy_exceptions.version_of(upstream, namespace=namespace, type=type_, version=fields["version"])
        more = {name: fields[name] for name in ("reason", "expires_at")}
        row = policy_exceptions.allow(version, actor=self.viewer, **more)
        return self.answer(row, HTTPStatus.CREATED)


class ExceptionDetail(ApiView):
    @operation(
        "Revoke an exception (staff)",
        answers={200: Consequences, 204: None},
        query=DRY_RUN,
        again="404.",
    )
    def delete(self, request: Request, host: str, exception_id: int) -> Response:  # noqa: ARG002
        upstream = rulebook.place(self.viewer, host, changes=True)
        row = policy_exceptions.in_force(upstream, exception_id)
        if self.is_dry_run():
            return self.answer(consequences.of_withdrawal(row, now=timezone.now()))
        policy_exceptions.withdraw(row, actor=self.viewer)
        return self.answer(status=HTTPStatus.NO_CONTENT)


def described(names: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the policy of each of these hosts for files that describe it."""
    shape = PolicyRule(many=True)
    found = dict(upstreams.of_hosts(names))
    rules = rulebook.rules_by_upstream(found.values())
    for name, row in found.items():
        yield name, {"cooldown_days": row.cooldown_days, "rules": shape.to_representation(rules[row.pk])}


def _policy(upstream: Upstream) -> With:
    index = advisories.index()
    found = rulebook.rules_of(upstream)
    return With(upstream, rules=found, advisory_files=index.files, advisory_problems=index.problems)


def _by_provider(run: DryRun) -> list[dict[str, Any]]:
    return [
        {"provider": address, "changes": list(changes)}
        for address, changes in groupby(run.changes, key=lambda change: change.provider.address)
    ]


_UPSTREAM = "upstreams/<segment:host>"
urlpatterns = [
    path(f"{_UPSTREAM}/policies", PolicyDetail.as_view(), name="upstream-policies"),
    path(f"{_UPSTREAM}/policies/dry-run", DryRunView.as_view(), name="upstream-policies-dry-run"),
    path(f"{_UPSTREAM}/exceptions", ExceptionList.as_view(), name="upstream-exceptions"),
    path(f"{_UPSTREAM}/exceptions/<int:exception_id>", ExceptionDetail.as_view(), name="upstream-exception"),
]
