"""…/<version>/checks of a module or provider: reports about it; /namespaces/<ns>/checks: what is required; and the
waiver of a release that waits.
"""

from http import HTTPStatus
from typing import Any

from django.urls import URLPattern, path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DictField, IntegerField, ListField

from apps.accounts.access import gate
from apps.accounts.models import Role
from apps.api.frame import shapes
from apps.api.frame.base import MODULE, PROVIDER, ApiView, DetailView, operation, shown
from apps.api.frame.bodies import refuse_form
from apps.api.frame.shapes import DigestField, MomentField, PersonField, Shape, With, of_release
from apps.api.versions.releases import ReleaseView
from apps.contrib.checks import digests, holding, policy, lookup, sending, wording
from apps.contrib.checks.models import Format, Mode, Outcome, Severity
from apps.contrib.checks.models import Report as Row
from apps.contrib.checks.policy import MAX_REQUIREMENTS, Requirement
from apps.contrib.checks.reading import confined
from apps.contrib.checks.reading.shape import RUN_STATES
from apps.contrib.checks.sending import Target
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.net.bodies import chunks, streamed


class CheckFinding(Shape):
    rule = CharField()
    severity = ChoiceField(choices=Severity.values)
    message = CharField()
    file = CharField(help_text="As the tool names it, or empty.")
    line = IntegerField(help_text="0 if the tool names none.")
    url = CharField(help_text="A page about the rule, or empty.")


class CheckRun(Shape):
    # Of one test.
    name = CharField()
    state = ChoiceField(choices=RUN_STATES)
    group = CharField(help_text="Its file or suite.")
    message = CharField(help_text="Why it failed, or empty.")
    file = CharField()
    line = IntegerField()


class CheckEntry(Shape):
    # Of one report, the newest or an earlier one.
    state = ChoiceField(choices=Outcome.values)
    counts = DictField(child=IntegerField(), help_text="Findings by severity, and tests by state; those above zero.")
    line = CharField(help_text="The counts in words.")
    tool = CharField()
    tool_version = CharField()
    digest = DigestField(allow_null=True, help_text="What it is about; null if its sender did not say.")
    received_at = MomentField()
    sent_by = PersonField(source="sent_by.username")

    def line_of(self, row: Row) -> str:
        return wording.counted(row)

    def digest_of(self, row: Row) -> str | None:
        return row.digest or None


class CheckReport(CheckEntry):
    name = CharField(source="check_name")
    format = ChoiceField(choices=Format.values)
    summary = CharField()
    url = CharField()
    matches = BooleanField(help_text="It is about the bytes of the release; false for others, and before it has any.")
    verified_origin = BooleanField(help_text="A run of the repository that published the release sent it.")


class CheckDetails(CheckReport):
    findings = CheckFinding(many=True)
    runs = CheckRun(many=True)
    history = CheckEntry(many=True, help_text="Of this name, the newest first; the last 20.")


class Checks(Shape):
    line = CharField(help_text="All of them in words; `No checks were sent` for none.")
    missing = ListField(child=CharField(), help_text="What the namespace requires and the version lacks, in sentences.")
    checks = CheckReport(many=True, help_text="The newest report of each name.")


class RequirementInput(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=64, help_text="The name of a check; * is any text.")
    passed = serializers.BooleanField(default=True, help_text="Its newest report has the state passed.")
    no_finding_at = serializers.ChoiceField(
        choices=["", *Severity.values], default="", help_text="No finding of this severity or a higher one."
    )
    max_age_days = serializers.IntegerField(
        min_value=1, max_value=3650, required=False, allow_null=True, default=None, help_text="null: of any age."
    )
    verified_origin = serializers.BooleanField(
        default=False, help_text="A run of the repository that published the release sent it."
    )


class ChecksPolicyInput(serializers.Serializer[Any]):
    mode = serializers.ChoiceField(choices=Mode.choices, help_text="warn publishes and marks; hold waits for them.")
    requirements = RequirementInput(many=True, max_length=MAX_REQUIREMENTS)
    mail_at = serializers.ChoiceField(
        choices=["", *Severity.values],
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


class _OfVersion(ApiView):
    address_type: type[ModuleAddress | ProviderAddress] = ModuleAddress

    def readable(self, version: str, **names: str) -> Target:
        return lookup.target_for(self.viewer, self.address_type(**names), version)


class CheckList(_OfVersion, DetailView):
    get = shown("List the checks of a version", Checks, public=True)

    def row(self, version: str, **names: str) -> With:
        target = self.readable(version, **names)
        rows = list(sending.newest_of(target))
        missing = policy.missing(target.release) if target.release is not None else []
        return With(target, line=wording.line_of(rows), missing=missing, checks=_described(target, rows))


@streamed("PUT")
class Check(_OfVersion):
    @operation("Show a check of a version", answers={200: CheckDetails}, public=True)
    def get(self, request: Request, check: str, version: str, **names: str) -> Response:  # noqa: ARG002
        """The newest report of this name with its findings and tests, and those before it."""
        target = self.readable(version, **names)
        return self.answer(_detailed(target, lookup.report_of(target, check)))

    @operation(
        "Send a report about a version",
        takes="application/sarif+json",
        answers={201: CheckReport, 202: CheckReport},
        query={"digest": "sha256:… of the archive, or of a package, that it is about; another one is refused."},
        errors={409: "The digest is that of other bytes, or the version has reports of too many names."},
        again="The same report is stored once, with the newer time.",
        scope="publish",
        idempotent=True,
        limits=["publish"],
    )
    def put(self, request: Request, check: str, version: str, **names: str) -> Response:
        """SARIF 2.1.0, JUnit XML, the output of `tofu test -json`, or {"state": "passed", "summary": "…", "url": "…"}
        as raw body, up to 5 MB. 202 before the version is published: the report waits for it, for at most 14 days.
        """
        self.count("publish")
        target = sending.authorise(self.viewer, self.address_type(**names), version)  # before the body is read
        sending.check_name(check)
        refuse_form(request, expected="the report itself", hint="With curl use `--upload-file`, not --form.")
        digest = sending.check_digest(target, self.text("digest"))
        report, sha256 = confined.read(self.viewer, chunks(request.META))
        sent = {"report": report, "sha256": sha256, "digest": digest}
        row = sending.send(viewer=self.viewer, target=target, name=check, **sent)
        status = HTTPStatus.CREATED if target.is_published else HTTPStatus.ACCEPTED
        return self.answer(_described(target, [row])[0], status)

    @operation(
        "Remove a check of a version",
        answers={204: None},
        query={"reason": "Why, in one or two sentences; the audit keeps it."},
        again="404.",
    )
    def delete(self, request: Request, check: str, version: str, **names: str) -> Response:
        """For owners: all reports of this name."""
        target = self.readable(version, **names)
        reason = request.query_params.get("reason", "")
        sending.remove(viewer=self.viewer, target=target, name=check, reason=reason)
        return self.answer(status=HTTPStatus.NO_CONTENT)


class PolicyView(DetailView):
    get = shown("Show the required checks of a namespace", ChecksPolicy)

    def row(self, namespace: str) -> With:
        return _policy(policy.of(gate.namespace_for(self.viewer, namespace)))

    @operation("Set the required checks of a namespace", takes=ChecksPolicyInput, answers={200: ChecksPolicy})
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


def _described(target: Target, rows: list[Row]) -> list[With]:
    known = digests.of_release(target.release) if target.release is not None else []
    origin = lookup.origin_of(target)
    return [
        With(row, matches=row.digest in known, verified_origin=policy.is_from_origin(row, origin)) for row in rows
    ]


def _detailed(target: Target, row: Row) -> With:
    [found] = _described(target, [row])
    return With(found, **row.details, history=list(lookup.history_of(row)))


def _policy(row: Any) -> With:
    required = [With(one, sentence=one.sentence) for one in policy.requirements_of(row)]
    mode, mail_at = (row.mode, row.mail_at) if row is not None else (Mode.WARN, "")
    return With(row, mode=mode, mail_at=mail_at, requirements=required)


def _routes(kind: str, place: str, address_type: type[ModuleAddress | ProviderAddress]) -> list[URLPattern]:
    here, of_kind = f"{place}/<segment:version>/checks", {"address_type": address_type}
    return [
        path(here, CheckList.as_view(**of_kind), name=f"{kind}-checks"),
        path(f"{here}/<segment:check>", Check.as_view(**of_kind), name=f"{kind}-check"),
    ]


urlpatterns = [
    *_routes("module", MODULE, ModuleAddress),
    *_routes("provider", PROVIDER, ProviderAddress),
    path("namespaces/<segment:namespace>/checks", PolicyView.as_view(), name="namespace-checks"),
    path("releases/<segment:public_id>/waive-checks", Waiver.as_view(), name="release-waive-checks"),
]
