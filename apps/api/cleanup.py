"""/api/v1/namespaces/<ns>/cleanup: the rule for old versions, what it would do, and doing it; for owners."""

from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Namespace
from apps.api.frame import upkeep
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_json, validated
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of
from apps.releases.cleanup import applying, planning, rules
from apps.releases.cleanup.planning import Verdict
from apps.releases.cleanup.rows import CleanupAction, CleanupRule


class RuleInput(serializers.Serializer[Any]):
    """An omitted field stays unchanged."""

    enabled = serializers.BooleanField(required=False)
    action = serializers.ChoiceField(choices=CleanupAction.values, required=False)
    prerelease_days = serializers.IntegerField(required=False, allow_null=True)
    stable_days = serializers.IntegerField(required=False, allow_null=True)
    keep_newest = serializers.IntegerField(required=False)
    fetched_days = serializers.IntegerField(required=False)


class PlanInput(serializers.Serializer[Any]):
    plan = serializers.CharField(max_length=64, help_text="From the dry run.")


def rule_document(rule: CleanupRule) -> dict[str, Any]:
    times = {name: getattr(rule, name) for name in ("changed_at", "acts_from", "applied_at")}
    return {
        **{name: getattr(rule, name) for name in rules.FIELDS},
        **{name: at.isoformat() if at else None for name, at in times.items()},
        "changed_by": rule.changed_by.username if rule.changed_by else None,
        "applied_count": rule.applied_count,
    }


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    return {
        "kind": verdict.row.kind,
        "name": verdict.row.name,
        "version": verdict.row.version,
        "published_at": verdict.row.published_at.isoformat(),
        "goes": verdict.goes,
        "why": verdict.why,
    }


class OwnersView(ApiView):
    def owned(self, name: str) -> Namespace:
        self.require_token()
        return rules.authorised_namespace(self.viewer, name)


class Cleanup(OwnersView):
    @operation("Show the cleanup rule of a namespace (owners)", answers={200: upkeep.CleanupRule}, scope="manage")
    def get(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        return Response(rule_document(rules.rule_of(self.owned(namespace))))

    @operation(
        "Set the cleanup rule of a namespace",
        takes=RuleInput,
        answers={200: upkeep.CleanupRule},
        again="Changes nothing.",
        scope="manage",
        idempotent=True,
    )
    def put(self, request: Request, namespace: str) -> Response:
        """Nothing is deprecated or yanked now: an enabled rule acts from one day after its last change."""
        target = self.owned(namespace)
        wanted = validated(RuleInput, read_json(request))
        return Response(rule_document(rules.change(namespace=target, actor=self.viewer, **wanted)))


class CleanupPlan(OwnersView):
    http_method_names = ["get", "head"]

    @operation(
        "Show what the cleanup rule would do (a dry run)",
        answers={200: upkeep.CleanupPlan},
        query=CURSOR,
        scope="manage",
    )
    def get(self, request: Request, namespace: str) -> Response:
        """Each version, whether it would go, and why."""
        plan = planning.plan(rules.rule_of(self.owned(namespace)))
        going = len(plan.going)
        head = {"plan": plan.digest, "action": plan.action, "going": going, "staying": len(plan.verdicts) - going}
        return Response(head | page_of(request, "versions", plan.verdicts, verdict_document))


class CleanupApply(OwnersView):
    http_method_names = ["post"]

    @operation(
        "Apply the cleanup rule now",
        takes=PlanInput,
        answers={200: upkeep.CleanupOutcome},
        errors={409: "The rule chooses other versions by now, or there is none."},
        again="409 if it has changed versions.",
        scope="manage",
    )
    def post(self, request: Request, namespace: str) -> Response:
        """50 versions at most. `plan` is what the dry run said, so that nothing goes that nobody has read."""
        target = self.owned(namespace)
        seen = validated(PlanInput, read_json(request))["plan"]
        outcome = applying.apply_by_hand(rule=rules.rule_of(target), actor=self.viewer, seen=seen)
        return Response({"done": list(outcome.done), "left": outcome.left})


urlpatterns = [
    path("namespaces/<segment:namespace>/cleanup", Cleanup.as_view(), name="cleanup"),
    path("namespaces/<segment:namespace>/cleanup/plan", CleanupPlan.as_view(), name="cleanup-plan"),
    path("namespaces/<segment:namespace>/cleanup/apply", CleanupApply.as_view(), name="cleanup-apply"),
]
