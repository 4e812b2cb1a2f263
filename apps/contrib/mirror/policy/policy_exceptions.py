"""Let one version of an upstream through its policy, for a time and with a reason."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.contrib.mirror.models import PolicyException, Upstream, UpstreamVersion
from apps.contrib.mirror.policy.evaluation import moment
from apps.lib import versions
from apps.lib.errors import Conflict, Invalid, NotFound, existing

LONGEST = timedelta(days=366)
MAX_REASON = 300


@dataclass(frozen=True, slots=True)
class ModuleVersion:
    """`module`: namespace/name/system, in lower case."""

    upstream: Upstream
    module: str
    version: str

    def __str__(self) -> str:
        return f"{self.upstream}/{self.module} {self.version}"


def of(upstream: Upstream) -> QuerySet[PolicyException]:
    """Return all of them, newest first: those that ended too."""
    rows = PolicyException.objects.filter(Q(version__provider__upstream=upstream) | Q(upstream=upstream))
    return rows.select_related("version__provider__upstream", "upstream", "created_by").order_by("-pk")


def in_force(upstream: Upstream, number: int) -> PolicyException:
    """Raises NotFound, also for one that has ended."""
    found = of(upstream).filter(pk=number, withdrawn_at=None, expires_at__gt=timezone.now()).first()
    return existing(found, f"{upstream.host} has no such exception in force.", hint="List them to see which are.")


def version_of(upstream: Upstream, *, namespace: str, type: str, version: str) -> UpstreamVersion:  # noqa: A002
    """Return the row, matched by value. Raises NotFound, and Invalid for what is not a version."""
    key = versions.sort_key(version.strip().removeprefix("v"))
    rows = UpstreamVersion.objects.select_related("provider__upstream").defer("sums", "signature")
    found = rows.filter(
        provider__upstream=upstream,
        provider__namespace=namespace.strip().lower(),
        provider__type=type.strip().lower(),
        sort_key=key,
    ).first()
    if found is None:
        raise NotFound(
            f"Larder knows no version {version.strip()[:128]} of {upstream.host}/{namespace[:64]}/{type[:64]}.",
            hint="Request its list once with a client, or run a sync.",
        )
    return found


@transaction.atomic
def allow(
    version: UpstreamVersion | ModuleVersion, *, reason: str, expires_at: datetime, actor: Viewer
) -> PolicyException:
    """Let it through until then, whatever the rules say. A further one for the same version adds time. Raises Invalid.

    It says nothing about trust: an unsigned or replaced version stays refused, and a module's that moved as well.
    """
    reason, now = " ".join(reason.split()), timezone.now()
    if not reason:
        raise Invalid("The reason is missing.", hint="Say why this version cannot wait.")
    if len(reason) > MAX_REASON:
        raise Invalid(f"The reason has more than {MAX_REASON} characters.", hint="Shorten it.")
    if not now < expires_at <= now + LONGEST:
        raise Invalid(
            f"Found expiry {moment(expires_at)}, expected a date within the next {LONGEST.days} days.",
            hint="Choose the day on which the rules may decide again.",
        )
    row = PolicyException(reason=reason, expires_at=expires_at, created_by_id=actor.user_id)
    if isinstance(version, ModuleVersion):
        row.upstream, row.module, row.module_version = version.upstream, version.module, version.version
    else:
        row.version = version
    row.save()
    actor.record(Kind.UPSTREAM_VERSION_ALLOWED, subject=str(version), reason=reason, expires_at=expires_at.isoformat())
    return row


@transaction.atomic
def withdraw(exception: PolicyException, *, actor: Viewer) -> None:
    """End it now. Raises Conflict if it has ended."""
    now = timezone.now()
    rows = PolicyException.objects.filter(pk=exception.pk, withdrawn_at=None, expires_at__gt=now)
    if not rows.update(withdrawn_at=now):
        raise Conflict("This exception has ended already.")
    exception.withdrawn_at = now
    actor.record(
        Kind.UPSTREAM_POLICY_CHANGED,
        subject=exception.about,
        withdrawn_exception=exception.pk,
        reason=exception.reason,
    )
