"""Find who is hit when a mirror, or versions of it, are taken away: what clients fetched in the last 30 days.

Fetches of mirrored packages are counted, not who made them: no one can be notified of them.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Max, Sum
from django.utils import timezone

from apps.accounts.access import operators
from apps.accounts.access.gate import Viewer
from apps.contrib.mirror.models import PolicyException, Upstream, UpstreamPackage
from apps.contrib.mirror.policy.evaluation import Policy
from apps.contrib.mirror.policy.rulebook import DryRun
from apps.releases.lifecycle.impact import DAYS, Act, Consequences, Effect, Hit, Hitting, Words, consequences_of
from apps.releases.models import Release, ReleaseBlob

MAX_PROVIDERS = 1_000
WORDS = {
    Effect.FAILS: Words(
        f"in use is no longer served: clients fetched it in the last {DAYS} days",
        f"in use are no longer served: clients fetched them in the last {DAYS} days",
        "{} that clients fetched, and that are no longer served",
    )
}


def of_removal(upstream: Upstream) -> Consequences:
    """The providers of the mirror that clients use."""
    rows = _used().filter(version__provider__upstream=upstream)
    grouped = rows.values("version__provider__namespace", "version__provider__type")
    found = grouped.annotate(times=Sum("uses"), at=Max("used_at")).order_by("-at")[:MAX_PROVIDERS]
    hits = (
        _hit(
            Hitting.PROVIDER,
            f"{upstream.host}/{row['version__provider__namespace']}/{row['version__provider__type']}",
            row,
        )
        for row in found
    )
    return consequences_of(hits, words=WORDS)


def of_policy(upstream: Upstream, run: DryRun) -> Consequences:
    """Those among the versions that a change of policy hides, of the first that its preview names."""
    hidden = {one.version.pk: one for one in run.changes if not one.after.is_visible}
    rows = _used().filter(version__in=list(hidden)).values("version")
    found = {row["version"]: row for row in rows.annotate(times=Sum("uses"), at=Max("used_at")).order_by()}
    hits = (
        _hit(Hitting.VERSION, f"{upstream.host}/{change.provider.address} {change.version.version}", found[pk])
        for pk, change in hidden.items()
        if pk in found
    )
    return consequences_of(hits, words=WORDS)


def of_withdrawal(exception: PolicyException, *, now: datetime) -> Consequences:
    """The version that it lets through, if clients use it and the rules hide it. A module's that was published stays
    published.
    """
    version = exception.version
    others = PolicyException.objects.filter(version=version, withdrawn_at=None, expires_at__gt=now)
    if version is None or others.exclude(pk=exception.pk).exists():
        return consequences_of((), words=WORDS)
    provider = version.provider
    decision = Policy.of(provider.upstream).for_address(provider.address).decide(version, now=now)
    found = _used().filter(version=version).aggregate(times=Sum("uses"), at=Max("used_at"))
    is_hit = found["at"] is not None and not decision.is_visible
    name = f"{provider.upstream.host}/{provider.address} {version.version}"
    return consequences_of([_hit(Hitting.VERSION, name, found)] if is_hit else (), words=WORDS)


def of_releases(viewer: Viewer, releases: Sequence[Release], act: Act) -> Iterator[Hit]:
    """Mirrored packages with the bytes of a release that is to be quarantined: they are blocked with it. For staff."""
    if act != Act.QUARANTINE or not operators.is_operator(viewer):
        return
    parts = ReleaseBlob.objects.filter(release__in=releases).values_list("digest", flat=True)
    rows = UpstreamPackage.objects.filter(digest__in=[*(one.digest for one in releases), *parts]).exclude(blob=None)
    for row in rows.select_related("version__provider__upstream").order_by("pk")[:MAX_PROVIDERS]:
        provider = row.version.provider
        name = f"{provider.upstream.host}/{provider.address} {row.version.version} {row.platform}"
        yield Hit(Hitting.PROVIDER, name, Effect.FAILS, note="is mirrored with the same bytes", at=row.used_at)


def _used() -> Any:
    return UpstreamPackage.objects.filter(used_at__gte=timezone.now() - timedelta(days=DAYS))


def _hit(kind: Hitting, name: str, row: dict[str, Any]) -> Hit:
    at: datetime = row["at"]
    return Hit(kind, name, Effect.FAILS, count=row["times"], at=at)
