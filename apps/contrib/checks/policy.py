"""The checks that a namespace requires of its releases, and those that a release lacks."""

from dataclasses import asdict, dataclass
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.access.people_only import people_only
from apps.accounts.models import Namespace, Role
from apps.audit.kinds import Kind as Event
from apps.contrib.checks import digests, wording
from apps.contrib.checks.models import Mode, Outcome, Policy, Report, Severity
from apps.releases.models import Release
from apps.releases.origin.models import Origin, joined

MAX_REQUIREMENTS = 20
# Of names of checks: `*` is any text, `?` any character.
PATTERN = r"^[a-z0-9*?._-]+$"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One check that a release needs. `name` is a pattern: `*` is any text. At least one check has to match, and each
    that does has to meet the rest.
    """

    name: str
    passed: bool = True
    no_finding_at: str = ""
    max_age_days: int | None = None
    verified_origin: bool = False

    @property
    def sentence(self) -> str:
        parts = ["passed"] if self.passed else []
        if self.no_finding_at:
            least = "" if self.no_finding_at == Severity.CRITICAL else " or higher"
            parts.append(f"no finding that is {self.no_finding_at}{least}")
        if self.max_age_days:
            parts.append(f"at most {wording.many(self.max_age_days, 'day')} old")
        if self.verified_origin:
            parts.append("sent by a run of the release's verified origin")
        return f"{self.name}: {', '.join(parts) or 'sent'}"


def requirements_of(policy: Policy | None) -> list[Requirement]:
    return [Requirement(**one) for one in policy.requirements] if policy is not None else []


def of(namespace: Namespace) -> Policy | None:
    return Policy.objects.filter(namespace=namespace).first()


@people_only("change which checks are required")
def change(*, namespace: Namespace, actor: Viewer, mode: str, requirements: list[Requirement], mail_at: str) -> Policy:
    """Replace the policy. Owners. Releases that wait are looked at again within a minute."""
    gate.namespace_for(actor, namespace.name, need=Role.OWNER)
    fields: dict[str, Any] = {
        "mode": mode,
        "requirements": [asdict(one) for one in requirements],
        "mail_at": mail_at,
    }
    with transaction.atomic():
        before = of(namespace)
        old = {name: getattr(before, name) for name in fields} if before else {}
        row, _ = Policy.objects.update_or_create(namespace=namespace, defaults=fields)
        if changes := {name: [old.get(name), value] for name, value in fields.items() if old.get(name) != value}:
            actor.record(Event.CHECKS_POLICY_CHANGED, subject=namespace.name, changes=changes)
    return row


def missing(release: Release, *, mode: Mode | None = None) -> list[str]:
    """Return what the release lacks, a sentence for each; with `mode` only if that is the policy's."""
    policy = of(release.namespace)
    required = requirements_of(policy) if mode is None or (policy is not None and policy.mode == mode) else []
    if not required:
        return []
    reports = list(Report.objects.about(release).newest().order_by("check_name"))
    known, origin = digests.of_release(release), joined(release, "origin")
    return [
        f"{one.name}: {lack}"
        for one in required
        for lack in _lacks(one, [row for row in reports if fnmatchcase(row.check_name, one.name)], known, origin)
    ]


def _lacks(required: Requirement, found: list[Report], known: list[str], origin: Origin | None) -> list[str]:
    usable = [row for row in found if not row.digest or row.digest in known]
    if not usable:
        return ["the report is about other bytes" if found else "no report was sent"]
    return [why for row in usable if (why := _lack(required, row, origin))]


def _lack(required: Requirement, row: Report, origin: Origin | None) -> str:
    """Why the report does not meet it, or ""."""
    said = wording.counted(row)
    if required.no_finding_at:
        severe = [one for one in Severity(required.no_finding_at).and_above if row.counts.get(one)]
        if severe:
            return f"{row.check_name} has {said}"
    if required.passed and row.state != Outcome.PASSED:
        return f"{row.check_name} {'failed' if row.state == Outcome.FAILED else 'has warnings'}: {said}"
    age = timezone.now() - row.received_at
    if required.max_age_days and age > timedelta(days=required.max_age_days):
        return f"{row.check_name} is {wording.many(age.days, 'day')} old"
    if required.verified_origin and not is_from_origin(row, origin):
        return f"{row.check_name} was not sent by a run of the release's verified origin"
    return ""


def is_from_origin(row: Report, origin: Origin | None) -> bool:
    """Return whether a run of the same repository sent the report that published the release, both verified.

    Another run and commit may have: a scan at night is one.
    """
    if origin is None or not origin.is_verified or not row.vendor:
        return False
    theirs, ours = row.facts.get("repository"), origin.facts.get("repository")
    return (row.vendor, row.issuer) == (origin.vendor, origin.issuer) and bool(theirs) and theirs == ours
