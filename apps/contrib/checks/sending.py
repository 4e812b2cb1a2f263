"""Take a report: of one name the newest counts, and the last 20 are kept. Nothing of it changes what was published."""

import json
import re
import zlib
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, Sum
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.trusted import kept_claims
from apps.accounts.identity.trusted.requiring import require_trusted
from apps.accounts.identity.trusted.vendors import VENDORS
from apps.accounts.models import Namespace, Role, TokenExchange
from apps.audit.kinds import Kind as Event
from apps.contrib.checks import digests, holding, wording
from apps.contrib.checks.models import MAX_NAME, Policy, Report, ReportQuerySet, Severity
from apps.contrib.checks.reading import shape
from apps.lib import versions
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Conflict, Invalid, NotFound
from apps.lib.versions import Version
from apps.releases.catalogue import indexing
from apps.releases.lifecycle.verbs import checked_reason
from apps.releases.models import Kind, Release, State
from apps.releases.origin.models import PEOPLE
from apps.releases.publishing.quotas import require_bytes

HISTORY = 20
MAX_NAMES = 50
# A report that waits for a release is dropped after this.
LIFETIME = timedelta(days=14)
_NAME = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{MAX_NAME - 1}}}")
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Target:
    """A version number, with its live release where it has one."""

    kind: Kind
    namespace: Namespace
    name: str
    version: Version
    release: Release | None

    def __str__(self) -> str:
        return f"{self.namespace.name}/{self.name} {self.version.text}"

    @property
    def columns(self) -> dict[str, Any]:
        same = {"kind": self.kind, "namespace": self.namespace, "name": self.name}
        return {**same, "sort_key": self.version.sort_key}

    @property
    def is_published(self) -> bool:
        return self.release is not None and self.release.state == State.PUBLISHED


@dataclass(frozen=True, slots=True)
class Sent:
    """A report that was read, with the sha256 of its bytes, and the digest of what it is about, or ""."""

    report: shape.Report
    sha256: str
    digest: str


def authorise(viewer: Viewer, address: ModuleAddress | ProviderAddress, version: str) -> Target:
    """Return what the viewer may send reports about: what they may publish. Raises as the gate does, Invalid for a
    number, and NotFound for a version that was purged.
    """
    namespace = gate.namespace_for(
        viewer, address.namespace, need=Role.PUBLISHER, only_name=address.path_name, spelled=address.spelled
    )
    require_trusted(viewer, namespace)
    kind = Kind.MODULE if isinstance(address, ModuleAddress) else Kind.PROVIDER
    target = Target(kind, namespace, address.path_name, versions.parse(version), None)
    release = Release.objects.live().select_related("namespace").filter(**target.columns).first()
    if release is not None and release.state == State.PURGED:
        raise NotFound(release.removal, hint="Reports about a purged version are not accepted.")
    return Target(kind, namespace, target.name, target.version, release)


def check_name(name: str) -> None:
    """Raises Invalid."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            f"The name of a check is {name[:80]!a}, expected a to z, 0 to 9, '.', '_' and '-', at most {MAX_NAME}.",
            hint="Use the name of the tool, such as checkov or tofu-test.",
        )


def check_digest(target: Target, said: str) -> str:
    """Return the digest that a report is about, in hexadecimal digits; of a release that has bytes by default those.

    Raises Invalid for no digest, and Conflict for that of other bytes.
    """
    release, digest = target.release, said.strip().lower().removeprefix("sha256:")
    if said and not re.fullmatch("[0-9a-f]{64}", digest):
        raise Invalid(f"The digest is {said[:80]!a}, expected sha256: and 64 hexadecimal digits.")
    known = digests.of_release(release) if release is not None else []
    if digest and known and digest not in known:
        raise Conflict(
            f"The report is about sha256:{digest}, and {target} is sha256:{known[0]}.",
            hint="Scan the archive that you publish, and send its digest.",
        )
    return digest or (known[0] if known else "")


def send(*, viewer: Viewer, target: Target, name: str, sent: Sent) -> Report:
    """Store the report. The same one again is the same row, with the time and the sender of now.

    The caller has asked `authorise`, `check_name` and `check_digest`. Raises Conflict and QuotaFull.
    """
    for _ in range(_TRIES):
        try:
            return _send(viewer, target, name, sent)
        except IntegrityError:  # another sender of the same name was first
            continue
    raise Conflict(f"Others are sending {name} of {target} at this moment.", hint="Send the report again.")


@transaction.atomic
def _send(viewer: Viewer, target: Target, name: str, sent: Sent) -> Report:
    if target.release is not None:
        # In the order in which a worker asks what is missing: see `holding`.
        Release.objects.select_for_update(no_key=True, of=("self",)).get(pk=target.release.pk)
    rows = Report.objects.filter(**target.columns)
    before = rows.filter(check_name=name, is_newest=True).first()
    if before is None and rows.values("check_name").distinct().count() >= MAX_NAMES:
        raise Conflict(
            f"{target} has reports of {MAX_NAMES} checks, the maximum.",
            hint="Use one name for each tool.",
        )
    new = _row(viewer, target, name, sent)
    if before is not None and (before.report_digest, before.digest) == (sent.sha256, sent.digest):
        new.pk = before.pk
        new.save(force_update=True)
    else:
        require_bytes(target.namespace, new.size)
        rows.filter(check_name=name, is_newest=True).update(is_newest=False)
        new.save(force_insert=True)
        kept = rows.filter(check_name=name).order_by("-received_at", "-pk").values_list("pk", flat=True)[:HISTORY]
        rows.filter(check_name=name).exclude(pk__in=list(kept)).delete()
    _record(viewer, target, new, before)
    if target.release is not None and target.is_published:
        indexing.refresh_facet("checks", target.release)
    elif target.release is not None:
        holding.look_again(target.release)
    return new


def _row(viewer: Viewer, target: Target, name: str, sent: Sent) -> Report:
    report = sent.report
    details = {"findings": [asdict(one) for one in report.findings], "runs": [asdict(one) for one in report.runs]}
    packed = zlib.compress(json.dumps(details, separators=(",", ":")).encode(), 6)
    row = Report(
        **target.columns,
        version=target.version.text,
        check_name=name,
        release=target.release if target.is_published else None,
        format=report.format,
        state=report.state,
        tool=report.tool,
        tool_version=report.tool_version,
        summary=report.summary,
        url=report.url,
        counts=dict(report.counts),
        packed=packed,
        size=len(packed),
        digest=sent.digest,
        report_digest=sent.sha256,
        received_at=timezone.now(),
        sent_by=viewer.user,
        token_id=viewer.token_id,
    )
    exchange = TokenExchange.objects.select_related("publisher").filter(token=viewer.token_id or 0).first()
    if exchange is not None:
        rule = exchange.publisher
        row.vendor, row.issuer = rule.kind, rule.issuer
        found = kept_claims.origin_of(VENDORS[rule.kind], exchange.claims)
        row.facts = {name: value for name, value in found.items() if name not in PEOPLE}
    return row


def _record(viewer: Viewer, target: Target, new: Report, before: Report | None) -> None:
    kind = Event.RELEASE_CHECKED if target.is_published else Event.CHECK_RECEIVED
    about = {"release": target.release.pk} if target.release is not None else {}
    said = f"{new.check_name} {new.state}: {wording.counted(new)}"
    viewer.record(kind, subject=str(target), **about, check=new.check_name, state=new.state, reason=said)
    mail_at = Policy.objects.filter(namespace=target.namespace).values_list("mail_at", flat=True).first()
    if not (target.is_published and mail_at):
        return
    severe = Severity(mail_at).and_above
    known = {_same(one) for one in before.details["findings"]} if before is not None else set()
    found = [one for one in new.details["findings"] if one["severity"] in severe and _same(one) not in known]
    if found:
        first = found[0]
        place = f" in {first['file']}" if first["file"] else ""
        more = f", and {len(found) - 1:,} more" if len(found) > 1 else ""
        said = f"{new.check_name} found {first['severity']}: {first['rule'] or first['message'][:80]}{place}{more}"
        viewer.record(Event.RELEASE_FINDINGS, subject=str(target), **about, check=new.check_name, reason=said)


def _same(finding: dict[str, Any]) -> tuple[str, str, str]:
    """Findings with the same key are one, wherever its line has moved to."""
    return finding["rule"], finding["file"], finding["message"]


def difference(before: Report | None, after: Report) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    """Return the findings that are new, those that are gone, and the number of those that are in both."""
    old = {_same(one): one for one in (before.details["findings"] if before is not None else [])}
    now = {_same(one): one for one in after.details["findings"]}
    new, gone = ([theirs[key] for key in theirs if key not in others] for theirs, others in ((now, old), (old, now)))
    return new, gone, len(now) - len(new)


def remove(*, viewer: Viewer, target: Target, name: str, reason: str) -> None:
    """Remove all reports of a name, such as one that was sent by mistake. Owners. Raises NotFound, and Invalid for a
    missing reason.
    """
    gate.namespace_for(viewer, target.namespace.name, need=Role.OWNER, only_name=target.name)
    reason = checked_reason(reason)
    with transaction.atomic():
        rows = Report.objects.filter(**target.columns, check_name=name)
        if not rows.delete()[0]:
            raise NotFound(f"{target} has no check {name[:80]!a}.")
        viewer.record(Event.CHECK_REMOVED, subject=str(target), check=name, reason=reason)
        if target.release is not None:
            indexing.refresh_facet("checks", target.release)


# --- What the core asks through the door ----------------------------------------------------------------------------


def published(release: Release) -> None:
    """Attach the reports that waited for the release, in the transaction that publishes it."""
    Report.objects.about(release).update(release=release)


def end_all(*, namespace: Namespace, actor: Viewer) -> None:  # noqa: ARG001  # the audit has the deletion
    """Delete reports that wait for a release, and the policy, of a namespace that is deleted."""
    Report.objects.filter(namespace=namespace, release=None).delete()
    Policy.objects.filter(namespace=namespace).delete()


def drop(release: Release) -> None:
    """Delete what was said about bytes that are purged, in that transaction."""
    Report.objects.about(release).delete()


def stored_bytes(namespace: Namespace) -> int:
    return Report.objects.filter(namespace=namespace).aggregate(stored=Sum("size"))["stored"] or 0


def prune() -> None:
    """Drop reports that have waited too long for a release."""
    waiting = Report.objects.filter(release=None, received_at__lt=timezone.now() - LIFETIME)
    for row in waiting.defer("packed").order_by("pk")[:500]:
        same = Q(kind=row.kind, namespace=row.namespace_id, name=row.name, sort_key=bytes(row.sort_key))
        if not Release.objects.live().filter(same).exists():
            row.delete()


def newest_of(target: Target) -> ReportQuerySet:
    rows = Report.objects.filter(**target.columns, is_newest=True)
    return rows.defer("packed").select_related("sent_by").order_by("check_name")
