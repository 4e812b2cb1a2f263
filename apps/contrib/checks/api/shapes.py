"""The shapes of reports in answers."""

from rest_framework.serializers import BooleanField, CharField, ChoiceField, DictField, IntegerField, ListField

from apps.api.frame.shapes import DigestField, MomentField, PersonField, Shape
from apps.contrib.checks.models import Report
from apps.contrib.checks.reading.shape import FORMATS, RUN_STATES, SEVERITIES, STATES


class CheckFinding(Shape):
    rule = CharField()
    severity = ChoiceField(choices=SEVERITIES)
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
    state = ChoiceField(choices=STATES)
    counts = DictField(child=IntegerField(), help_text="Findings by severity, and tests by state; those above zero.")
    line = CharField(help_text="The counts in words.")
    tool = CharField()
    tool_version = CharField()
    digest = DigestField(allow_null=True, help_text="What it is about; null if its sender did not say.")
    received_at = MomentField()
    sent_by = PersonField(source="sent_by.username")

    def digest_of(self, row: Report) -> str | None:
        return row.digest or None


class CheckReport(CheckEntry):
    name = CharField(source="check_name")
    format = ChoiceField(choices=list(FORMATS))
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
