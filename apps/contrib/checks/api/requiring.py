"""/api/v1/namespaces/<ns>/checks: what is required; and the waiver of a release that waits."""

from collections.abc import Collection, Iterator
from http import HTTPStatus
from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField

from apps.accounts.access import gate
from apps.accounts.models import Role
from apps.api.frame import shapes
from apps.api.frame.base import DetailView, operation, shown
from apps.api.frame.shapes import Shape, With, of_release
from apps.api.versions.releases import ReleaseView
from apps.contrib.checks import holding, policy
from apps.contrib.checks.models import Mode, Policy
from apps.contrib.checks.policy import MAX_REQUIREMENTS, PATTERN, Requirement
from apps.contrib.checks.reading.shape import SEVERITIES


class RequirementInput(serializers.Serializer[Any]):
    name = serializers.RegexField(PATTERN, max_length=64, help_text="The name of a check; * is any text.")
    passed = serializers.BooleanField(default=True, help_text="Its newest report has the state passed.")
    no_finding_at = serializers.ChoiceField(
        choices=["", *SEVERITIES], default="", help_text="No finding of this severity or a higher one."
    )
    max_age_days = serializers.IntegerField(
        min_value=1, max_value=3650, required=False, allow_null=True, default=None, help_text="null: of any age."
    )
    verified_origin = serializers.BooleanField(
        default=False, help_text="A run of the repository that published the release sent it."
    )


class ChecksPolicyInput(serializers.Serializer[Any]):
    mode = serializers.ChoiceField(choices=Mode.choices, help_text="warn publishes and marks; hold waits for them.")
    requirements = serializers.ListField(child=RequirementInput(), max_length=MAX_REQUIREMENTS)
    mail_at = serializers.ChoiceField(
        choices=["", *SEVERITIES],
        default="",
        help_text="Owners are mailed about new findings in published versions from this severity on; empty: never.",
    )


class CheckRequirement(Shape):
    name = CharField()
    passed = BooleanField()
    no_finding_at = CharField()
    max_age_days = IntegerField(allow_null=True)
    verified_origin = BooleanField()
    sentence = CharField()


class ChecksPolicy(Shape):
    mode = ChoiceField(choices=Mode.values)
    requirements = CheckRequirement(many=True)
    mail_at = CharField()


class WaiverInput(serializers.Serializer[Any]):
    digest = serializers.CharField(max_length=80, help_text="sha256:… of the release that you looked at.")
    reason = serializers.CharField(max_length=500, help_text="For the audit and the publisher.")


class PolicyView(DetailView):
    get = shown("Show the required checks of a namespace", ChecksPolicy, public=True)

    def row(self, namespace: str) -> With:
        return _policy(policy.of(gate.namespace_for(self.viewer, namespace)))

    @operation(
        "Set the required checks of a namespace",
        takes=ChecksPolicyInput,
        answers={200: ChecksPolicy},
        again="Sets the same.",
    )
    def put(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        """For owners. It replaces the whole policy, for releases from now on and those that wait."""
        found = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        said = self.body()
        required = [Requirement(**one) for one in said.pop("requirements")]
        return self.answer(_policy(policy.change(namespace=found, actor=self.viewer, requirements=required, **said)))


class Waiver(ReleaseView):
    @operation(
        "Waive the required checks of a release",
        takes=WaiverInput,
        answers={202: shapes.Release},
        again="409.",
    )
    def post(self, request: Request, public_id: str) -> Response:  # noqa: ARG002
        """For owners: a release that waits for checks continues without them. 409 if another digest waits."""
        release = self.release(public_id)
        holding.waive(release=release, actor=self.viewer, **self.body())
        release.refresh_from_db()
        return self.answer(of_release(release), HTTPStatus.ACCEPTED)


def described(names: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the policy of each of these namespaces for files that describe it."""
    rows = Policy.objects.filter(namespace__name__in=names).select_related("namespace")
    found, shape = {row.namespace.name: row for row in rows}, ChecksPolicy()
    yield from ((name, shape.to_representation(_policy(found.get(name)))) for name in names)


def _policy(row: Policy | None) -> With:
    required = [With(one, sentence=one.sentence) for one in policy.requirements_of(row)]
    return With(row or Policy(), requirements=required)


urlpatterns = [
    path("namespaces/<segment:namespace>/checks", PolicyView.as_view(), name="namespace-checks"),
    path("releases/<segment:public_id>/waive-checks", Waiver.as_view(), name="release-waive-checks"),
]
