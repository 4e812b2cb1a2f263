"""Take a report: of one name the newest counts, and the last 20 are kept. Nothing of it changes what was published."""

import json
import re
import zlib
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Sum
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.trusted import kept_claims
from apps.accounts.identity.trusted.requiring import require_trusted
from apps.accounts.identity.trusted.vendors import VENDORS
from apps.accounts.models import Namespace, Role, TokenExchange
from apps.audit.kinds import Kind as Event
from apps.contrib.checks import holding, policy
from apps.contrib.checks.models import MAX_NAME, Policy, Report
from apps.contrib.checks.reading import shape
from apps.lib import versions
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Conflict, Invalid, NotFound
from apps.releases.catalogue import indexing
from apps.releases.catalogue.reading import sort_key_of
from apps.releases.lifecycle.verbs import checked_reason
from apps.releases.models import Kind, Release, ReleaseQuerySet, State
from apps.releases.origin.models import PEOPLE
from apps.releases.publishing.quotas import require_bytes

HISTORY = 20
MAX_NAMES = 50
# A report that waits for a release is dropped after this.
LIFETIME = timedelta(days=14)
_NAME = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{MAX_NAME - 1}}}")
_TRIES = 3


def authorise(viewer: Viewer, address: ModuleAddress | ProviderAddress, version: str) -> Release:
    """Return what the viewer may send reports about: what they may publish. Raises as the gate does, Invalid for a
    number, and NotFound for a version that was purged.
    """
    namespace = gate.namespace_for(
        viewer, address.namespace, need=Role.PUBLISHER, only_name=address.path_name, spelled=address.spelled
    )
    require_trusted(viewer, namespace)
    return _release_at(namespace, address, version)


def readable(viewer: Viewer, address: ModuleAddress | ProviderAddress, version: str) -> Release:
    """Return what the viewer may read reports about: published versions, and to publishers every number. Raises as the
    gate does, and NotFound.
    """
    namespace, role = gate.namespace_and_role(
        viewer, address.namespace, only_name=address.path_name, spelled=address.spelled
    )
    sort_key_of(address, version)  # raises NotFound for what is no number
    release = _release_at(namespace, address, version)
    is_readable = release.state == State.PUBLISHED and release.quarantined_at is None
    if not is_readable and not role.covers(Role.PUBLISHER):
        raise NotFound(f"There is no version {version} of {address}.")
    return release


def _release_at(namespace: Namespace, address: ModuleAddress | ProviderAddress, version: str) -> Release:
    """The live release of that number; where it has none, one that was never stored stands for it."""
    kind = Kind.MODULE if isinstance(address, ModuleAddress) else Kind.PROVIDER
    number = versions.parse(version)
    asked = Release(kind=kind, namespace=namespace, name=address.path_name, version=number.text)
    asked.sort_key = number.sort_key
    return _as_it_is_now(asked, Release.objects.live())


def _as_it_is_now(asked: Release, live: ReleaseQuerySet) -> Release:
    number = {name: getattr(asked, name) for name in ("kind", "namespace", "name", "sort_key")}
    release = live.filter(**number).select_related("namespace", "origin").first() or asked
    if release.state == State.PURGED:
        raise NotFound(release.removal, hint="Reports about a purged version are not accepted.")
    return release


def check_name(name: str) -> None:
    """Raises Invalid."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            f"The name of a check is {name[:80]!a}, expected a to z, 0 to 9, '.', '_' and '-', at most {MAX_NAME}.",
            hint="Use the name of the tool, such as checkov or tofu-test.",
        )


def check_digest(release: Release, said: str) -> str:
    """Return the digest that a report is about, in hexadecimal digits; of a release that has bytes by default those.

    Raises Invalid for no digest, and Conflict for that of other bytes.
    """
    digest = said.strip().lower().removeprefix("sha256:")
    if said and not re.fullmatch("[0-9a-f]{64}", digest):
        raise Invalid(f"The digest is {said[:80]!a}, expected sha256: and 64 hexadecimal digits.")
    known = policy.digests_of(release)
    if digest and known and digest not in known:
        raise Conflict(
            f"The report is about sha256:{digest}, and {release} is sha256:{known[0]}.",
            hint="Scan the archive that you publish, and send its digest.",
        )
    return digest or (known[0] if known else "")


def send(*, viewer: Viewer, release: Release, name: str, read: tuple[shape.Report, str], digest: str) -> Report:
    """Store the report that `confined.read` returned, about that `digest`, or "". The same one again is the same row,
    with the time and the sender of now.

    The caller has asked `authorise`, `check_name` and `check_digest`. Raises Conflict, QuotaFull, and NotFound for a
    release that was purged meanwhile.
    """
    for _ in range(_TRIES):
        new = _row(viewer, release, read[0])
        new.check_name, new.report_digest, new.digest = name, read[1], digest
        with suppress(IntegrityError), transaction.atomic():  # another sender of the same name was first
            return _store(viewer, release, new)
    raise Conflict(f"Others are sending {name} of {release} at this moment.", hint="Send the report again.")


def _row(viewer: Viewer, release: Release, report: shape.Report) -> Report:
    details = {"findings": [asdict(one) for one in report.findings], "runs": [asdict(one) for one in report.runs]}
    packed = zlib.compress(json.dumps(details, separators=(",", ":")).encode(), 6)
    row = Report(
        **{name: getattr(release, name) for name in ("kind", "namespace", "name", "version", "sort_key")},
        **{name: getattr(report, name) for name in ("format", "state", "tool", "tool_version", "summary", "url")},
        counts=dict(report.counts),
        packed=packed,
        size=len(packed),
        received_at=timezone.now(),
        sent_by=viewer.user,
        token_id=viewer.token_id,
    )
    exchange = TokenExchange.objects.select_related("publisher").filter(token=viewer.token_id or 0).first()
    if exchange is not None:
        row.vendor, row.issuer = exchange.publisher.kind, exchange.publisher.issuer
        facts = kept_claims.origin_of(VENDORS[row.vendor], exchange.claims)
        row.facts = {name: value for name, value in facts.items() if name not in PEOPLE}
    return row


def _store(viewer: Viewer, asked: Release, new: Report) -> Report:
    # It may have been published while the body arrived. Locked first, as a worker does that asks what is missing: see
    # `holding`.
    release = _as_it_is_now(asked, Release.objects.live().select_for_update(no_key=True, of=("self",)))
    new.release = release if release.state == State.PUBLISHED else None
    rows = Report.objects.about(release)
    of_name = rows.filter(check_name=new.check_name)
    before = of_name.newest().first()
    if before is None and rows.values("check_name").distinct().count() >= MAX_NAMES:
        raise Conflict(f"{release} has reports of {MAX_NAMES} checks, the maximum.", hint="Use one name for each tool.")
    if before is not None and (before.report_digest, before.digest) == (new.report_digest, new.digest):
        new.pk = before.pk
        new.save(force_update=True)
    else:
        require_bytes(release.namespace, new.size)
        of_name.newest().update(is_newest=False)
        new.save(force_insert=True)
        kept = of_name.order_by("-received_at", "-pk").values_list("pk", flat=True)[:HISTORY]
        of_name.exclude(pk__in=list(kept)).delete()
    _record(viewer, release, new, before)
    if release.state == State.PUBLISHED:
        indexing.refresh_facet("checks", release)
    elif release.pk:
        holding.look_again(release)
    return new


def _record(viewer: Viewer, release: Release, new: Report, before: Report | None) -> None:
    is_published = release.state == State.PUBLISHED
    about: dict[str, Any] = {"subject": str(release), "check": new.check_name}
    about |= {"release": release.pk} if release.pk else {}
    kind = Event.RELEASE_CHECKED if is_published else Event.CHECK_RECEIVED
    viewer.record(kind, **about, state=new.state, reason=f"{new.check_name} {new.state}: {new.line}")
    mail_at = Policy.objects.filter(namespace=release.namespace).values_list("mail_at", flat=True).first()
    if not (is_published and mail_at):
        return
    severe = shape.and_above(mail_at)
    if found := [one for one in difference(before, new)[0] if one["severity"] in severe]:
        first = found[0]
        place = f" in {first['file']}" if first["file"] else ""
        more = f", and {len(found) - 1:,} more" if len(found) > 1 else ""
        what = first["rule"] or first["message"][:80]
        said = f"{new.check_name} found {first['severity']}: {what}{place}{more}"
        viewer.record(Event.RELEASE_FINDINGS, **about, reason=said)


def _same(finding: dict[str, Any]) -> tuple[str, str, str]:
    """Findings with the same key are one, wherever its line has moved to."""
    return finding["rule"], finding["file"], finding["message"]


def difference(before: Report | None, after: Report) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    """Return the findings that are new, those that are gone, and the number of those that are in both."""
    old = {_same(one): one for one in (before.details["findings"] if before is not None else [])}
    now = {_same(one): one for one in after.details["findings"]}
    new, gone = ([theirs[key] for key in theirs if key not in others] for theirs, others in ((now, old), (old, now)))
    return new, gone, len(now) - len(new)


def remove(*, viewer: Viewer, release: Release, name: str, reason: str) -> None:
    """Remove all reports of a name, such as one that was sent by mistake. Owners. Raises NotFound, and Invalid for a
    missing reason.
    """
    gate.namespace_for(viewer, release.namespace.name, need=Role.OWNER, only_name=release.name)
    reason = checked_reason(reason)
    with transaction.atomic():
        if not Report.objects.about(release).filter(check_name=name).delete()[0]:
            raise _no_check(release, name)
        viewer.record(Event.CHECK_REMOVED, subject=str(release), check=name, reason=reason)
        if release.pk:
            indexing.refresh_facet("checks", release)


def history_of(release: Release, name: str) -> list[Report]:
    """Return the reports of a name, the newest first. Raises NotFound."""
    rows = Report.objects.about(release).filter(check_name=name).select_related("sent_by")
    history = list(rows.order_by("-is_newest", "-received_at", "-pk")[:HISTORY])
    if not history:
        raise _no_check(release, name)
    return history


def _no_check(release: Release, name: str) -> NotFound:
    return NotFound(f"{release} has no check {name[:80]!a}.")


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
        same = {name: getattr(row, name) for name in ("kind", "namespace_id", "name", "sort_key")}
        if not Release.objects.live().filter(**same).exists():
            row.delete()
