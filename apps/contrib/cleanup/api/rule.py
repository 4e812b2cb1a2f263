"""/api/v1/namespaces/<ns>/cleanup: the rule for old versions, what it would do, and doing it; for owners."""

from collections.abc import Collection, Iterator
from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, ListField

from apps.api.frame.base import CURSOR, ApiView, DetailView, operation, shown
from apps.api.frame.shapes import NextField, OffsetField, Shape
from apps.contrib.cleanup import applying, planning, rules
from apps.releases.cleanup_rules import CleanupAction
from apps.releases.cleanup_rules import CleanupRule as Rule
from apps.releases.models import Kind


class RuleInput(serializers.Serializer[Any]):
    """An omitted field stays unchanged."""

    enabled = serializers.BooleanField(required=False)
    action = serializers.ChoiceField(choices=CleanupAction.values, required=False)
    prerelease_days = serializers.IntegerField(required=False, allow_null=True)
    stable_days = serializers.IntegerField(required=False, allow_null=True)
    keep_newest = serializers.IntegerField(required=False)
    fetched_days = serializers.IntegerField(required=False)


class PlanInput(serializers.Serializer[Any]):
    plan = serializers.CharField(max_length=64, help_text="The value from the dry run.")


class CleanupRule(Shape):
    enabled = BooleanField(help_text="Runs automatically, once an hour.")
    action = ChoiceField(choices=CleanupAction.values)
    prerelease_days = IntegerField(
        allow_null=True, help_text="Selects pre-releases older than this many days; null for none."
    )
    stable_days = IntegerField(allow_null=True, help_text="Selects releases older than this many days; null for none.")
    keep_newest = IntegerField(help_text="Number of newest versions of each module and provider to keep.")
    fetched_days = IntegerField(help_text="Keep versions that were downloaded within this many days.")
    changed_at = OffsetField(allow_null=True, help_text="null: no rule is set.")
    acts_from = OffsetField(allow_null=True, help_text="When it first runs automatically; null while it is off.")
    applied_at = OffsetField(allow_null=True)
    changed_by = CharField(source="changed_by.username", allow_null=True)
    applied_count = IntegerField(help_text="Number of versions that the last run changed.")


class CleanupVerdict(Shape):
    kind = ChoiceField(source="row.kind", choices=Kind.values)
    name = CharField(
        source="row.name", help_text="name/system of a module, such as vpc/aws, or the type of a provider."
    )
    version = CharField(source="row.version")
    published_at = OffsetField(source="row.published_at")
    goes = BooleanField()
    why = CharField()


class CleanupPlan(Shape):
    plan = CharField(help_text="The digest of the plan: send it to apply the plan.")
    action = ChoiceField(choices=CleanupAction.values)
    going = IntegerField()
    staying = IntegerField()
    versions = CleanupVerdict(many=True)
    next = NextField()


class CleanupOutcome(Shape):
    done = ListField(child=CharField(), help_text="Addresses that have versions.")
    left = IntegerField(help_text="Number of versions still to change. Read the plan again and apply it.")


class RuleView(DetailView):
    get = shown("Show the cleanup rule of a namespace (owners)", CleanupRule, scope="manage")

    def row(self, namespace: str) -> Rule:
        return rules.rule_of(rules.authorised_namespace(self.viewer, namespace))

    @operation(
        "Set the cleanup rule of a namespace", takes=RuleInput, answers={200: CleanupRule}, again="Changes nothing."
    )
    def put(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        """Nothing is deprecated or yanked now: an enabled rule acts from one day after its last change."""
        target = rules.authorised_namespace(self.viewer, namespace)
        return self.answer(rules.change(namespace=target, actor=self.viewer, **self.body()))


def described(names: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rule of each of these namespaces for files that describe it."""
    rows = Rule.objects.filter(namespace__name__in=names).select_related("namespace")
    found, fields = {row.namespace.name: row for row in rows}, list(RuleInput().fields)
    for name in names:
        rule = found.get(name) or Rule()
        yield name, {field: getattr(rule, field) for field in fields}


class PlanView(ApiView):
    @operation(
        "Preview the cleanup rule (a dry run)",
        answers={200: CleanupPlan},
        query=CURSOR,
        scope="manage",
    )
    def get(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        """Each version, whether it would go, and why."""
        plan = planning.plan(rules.rule_of(rules.authorised_namespace(self.viewer, namespace)))
        going = len(plan.going)
        head = {"plan": plan.digest, "action": plan.action, "going": going, "staying": len(plan.versions) - going}
        return self.page(plan.versions, **head)


class ApplyView(ApiView):
    @operation(
        "Apply the cleanup rule now",
        takes=PlanInput,
        answers={200: CleanupOutcome},
        errors={409: "The rule now selects different versions, or no rule is set."},
        again="409 if it has changed versions.",
    )
    def post(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        """50 versions at most. `plan` is what the dry run said, so that no version is changed that was not shown
        there.
        """
        target = rules.authorised_namespace(self.viewer, namespace)
        seen = self.body()["plan"]
        return self.answer(applying.apply_by_hand(rule=rules.rule_of(target), actor=self.viewer, seen=seen))


urlpatterns = [
    path("namespaces/<segment:namespace>/cleanup", RuleView.as_view(), name="cleanup"),
    path("namespaces/<segment:namespace>/cleanup/plan", PlanView.as_view(), name="cleanup-plan"),
    path("namespaces/<segment:namespace>/cleanup/apply", ApplyView.as_view(), name="cleanup-apply"),
]
