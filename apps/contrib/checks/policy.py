"""The checks that a namespace requires of its releases, and those that a release lacks."""

from collections.abc import Iterable
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
from apps.contrib.checks.models import Mode, Policy, Report
from apps.contrib.checks.reading.shape import CRITICAL, FAILED, PASSED, and_above
from apps.lib.text.counting import many
from apps.provenance import subjects
from apps.releases.models import Release, ReleaseFile, State
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
            least = "" if self.no_finding_at == CRITICAL else " or higher"
            parts.append(f"no finding that is {self.no_finding_at}{least}")
        if self.max_age_days:
            parts.append(f"at most {many(self.max_age_days, 'day')} old")
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


def missing(release: Release, reports: list[Report] | None = None, *, mode: Mode | None = None) -> list[str]:
    """Return what the release lacks, a sentence for each; with `mode` only if that is the policy's. `reports` are the
    newest as `judge` returns them, if the caller has them.
    """
    policy = of(release.namespace)
    required = requirements_of(policy) if mode is None or (policy is not None and policy.mode == mode) else []
    if not required:
        return []
    reports = judge(release, Report.objects.about(release).listed()) if reports is None else reports
    return [
        f"{one.name}: {lack}"
        for one in required
        for lack in _lacks(one, [row for row in reports if fnmatchcase(row.check_name, one.name)])
    ]


def _lacks(required: Requirement, found: list[Report]) -> list[str]:
    usable = [row for row in found if not row.digest or row.matches]
    if not usable:
        return ["the report is about other bytes" if found else "no report was sent"]
    return [why for row in usable if (why := _lack(required, row))]


def _lack(required: Requirement, row: Report) -> str:
    """Why the report does not meet it, or ""."""
    if required.no_finding_at and any(row.counts.get(one) for one in and_above(required.no_finding_at)):
        return f"{row.check_name} has {row.line}"
    if required.passed and row.state != PASSED:
        return f"{row.check_name} {'failed' if row.state == FAILED else 'has warnings'}: {row.line}"
    age = timezone.now() - row.received_at
    if required.max_age_days and age > timedelta(days=required.max_age_days):
        return f"{row.check_name} is {many(age.days, 'day')} old"
    if required.verified_origin and not row.verified_origin:
        return f"{row.check_name} was not sent by a run of the release's verified origin"
    return ""


def judge(release: Release, reports: Iterable[Report]) -> list[Report]:
    """Return the reports, each with whether it is about the bytes of the release (`matches`), and whether a run of its
    verified origin sent it (`verified_origin`).
    """
    known, origin, judged = digests_of(release), joined(release, "origin"), list(reports)
    for row in judged:
        row.matches, row.verified_origin = row.digest in known, is_from_origin(row, origin)
    return judged


def digests_of(release: Release) -> list[str]:
    """Return those that reports can be about, in hexadecimal digits; the one to name comes first. Empty while no bytes
    have arrived. A module that was repacked has that of the upload as well, which its sender knows; a provider those
    of its packages and sums.
    """
    found = [release.digest, release.uploaded_digest]
    if release.state == State.PUBLISHED:
        found += [subject.sha256 for subject in subjects.of_release(release)]
    elif release.pk:
        found += ReleaseFile.objects.filter(release=release).order_by("name").values_list("digest", flat=True)
    return list(dict.fromkeys(filter(None, found)))


def is_from_origin(row: Report, origin: Origin | None) -> bool:
    """Return whether a run of the same repository sent the report that published the release, both verified.

    Another run and commit may have: a scan at night is one.
    """
    if origin is None or not origin.is_verified or not row.vendor:
        return False
    theirs, ours = row.facts.get("repository"), origin.facts.get("repository")
    return (row.vendor, row.issuer) == (origin.vendor, origin.issuer) and bool(theirs) and theirs == ours
