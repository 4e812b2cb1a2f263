"""Read releases of both kinds, in any state: one, a person's own, and all of a namespace in groups by state."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, Value, When
from django.utils import timezone

from apps.accounts.access import gate, operators
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role, User
from apps.jobs.compiled_queries import CompiledQuery, Slot
from apps.lib import versions
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import CredentialsRequired, Invalid, NotFound, existing
from apps.releases.cooldown import Shown, shown
from apps.releases.models import Lifecycle, Release, ReleaseQuerySet, State
from apps.releases.publishing import approving
from apps.releases.version_rows import VersionQuerySet

Rows = TypeVar("Rows", bound=VersionQuerySet[Any])
HELD, AWAITING, RUNNING, REFUSED, PUBLISHED = "held", "awaiting-approval", "running", "refused", "published"
REFUSED_LATELY = timedelta(days=14)
GROUPS: Mapping[str, tuple[State, ...]] = {
    HELD: (State.HELD,),
    AWAITING: (State.AWAITING_APPROVAL,),
    RUNNING: (State.RECEIVING, State.RECEIVED, State.CHECKING, State.SIGNING),
    REFUSED: (State.REJECTED, State.FAILED),
    PUBLISHED: (State.PUBLISHED, State.PURGED),
}


def release_for(viewer: Viewer, public_id: uuid.UUID) -> Release:
    """A release in any state, for publishers of its namespace only.

    A guessed id reveals nothing: hidden and missing releases get the same answer.
    """
    if not viewer.is_identified:
        raise CredentialsRequired("Only publishers of its namespace can see a release.")
    found = Release.objects.filter(public_id=public_id)
    # The row is read once the gate, which is asked about a missing one as well, allows it: so both take the same time.
    # With the name: a token limited to this module may publish it, so it may see the release. `role_on` leaves guesses
    # of ids out of the audit.
    namespace_id, name = found.values_list("namespace_id", "name").first() or (0, "")
    role = gate.role_on(viewer, Namespace(pk=namespace_id), only_name=name)
    release = found.select_related("namespace", "created_by").first() if role else None
    if release is None or role is None:
        raise NotFound("There is no such release.")
    if not role.covers(Role.PUBLISHER):  # raises, and records the refusal
        gate.namespace_for(viewer, release.namespace.name, need=Role.PUBLISHER, only_name=release.name)
    return release


def is_named(namespace: Namespace, name: str) -> bool:
    """Return whether the namespace has a release of that name, `vpc/aws` or `random`, or ever had one."""
    return Release.objects.filter(namespace=namespace, name__iexact=name).exclude(published_at=None).exists()


def sort_key_of(address: ModuleAddress | ProviderAddress, version: str) -> bytes:
    """Raises NotFound for text that no version can have."""
    try:
        return versions.sort_key(version)
    except Invalid as error:
        raise NotFound(f"There is no version {version!r} of {address}: {error}") from None


def no_version(address: ModuleAddress | ProviderAddress, version: str, coordinate: Q) -> NotFound:
    """If the version was removed, the error says when and why. Asks no gate: the caller must have done so."""
    tombstone = Release.objects.removed().filter(coordinate).select_related("namespace").first()
    if tombstone is not None:
        return NotFound(tombstone.removal, hint="The versions page lists all versions.")
    return NotFound(f"There is no version {version} of {address}.")


def latest_of(coordinate: Q, role: Role, what: str) -> Release:
    """The newest release of an exact version in any state, for scripts that poll theirs (D24). Raises NotFound."""
    rows = Release.objects.filter(coordinate)
    if role == Role.READER:
        rows = rows.published() | rows.removed()
    return existing(rows.select_related("namespace", "lifecycle_by").order_by("-pk").first(), what)


def with_people(rows: Rows, viewer: Viewer, *, even_quarantined: bool) -> Rows:
    """The versions that the viewer may read, with who acted on them; quarantined ones for staff only."""
    if not (even_quarantined and operators.is_operator(viewer)):
        rows = rows.published()
    people = ("created_by", "lifecycle_by", "quarantined_by")
    return rows.select_related("release__namespace", *(f"release__{one}" for one in people))


def listed_numbers(parent: Any) -> Shown[tuple[str, datetime | None]]:
    """The listed versions of a module or provider, lowest first, as the public registries order them; each with its
    `visible_at`.
    """
    rows = parent.versions.unyanked().newest_first().reverse()
    return shown(rows.values_list("release__version", "release__visible_at"), itemgetter(1))


def advice_of(release: Release) -> str:
    """Its lifecycle in one line, with the reason and the replacement; empty while it is maintained."""
    if release.lifecycle == Lifecycle.MAINTAINED:
        return ""
    use = f" Use {release.lifecycle_replacement} instead." if release.lifecycle_replacement else ""
    return " ".join(f"{release.version} is {release.lifecycle}: {release.lifecycle_reason}{use}".split())


def moment_text(at: datetime) -> str:
    """A time in the documents that clients and update bots read."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def dates(published_at: datetime) -> dict[str, str]:
    """Return the dates of a version in the lists of both registry protocols.

    `discovered` is the name of the OpenTofu registry, for when the registry itself first saw the version, which a
    cool-down of the client counts from. No version can be published here with an earlier date.
    """
    text = moment_text(published_at)
    return {"published_at": text, "discovered": text}


def require_published(parent: Any) -> None:
    """A module or provider of which nothing can be read is not there. Raises NotFound."""
    if not parent.versions.published().exists():
        raise NotFound(f"{parent.address} has no published version.")


def releases_of(viewer: Viewer, group: str = "") -> ReleaseQuerySet:
    """Return the releases that the viewer started and may still open: held first, then in progress, then the newest."""
    rows = _own(viewer)
    if group:
        rows = rows.filter(state__in=GROUPS[group])
    urgency = Case(
        When(state=State.HELD, then=Value(0)),
        When(state__in=[*GROUPS[RUNNING], *GROUPS[AWAITING]], then=Value(1)),
        default=Value(2),
    )
    return rows.select_related("namespace").order_by(urgency, "-created_at", "-pk")


def releases_in(namespace: Namespace, group: str = "") -> ReleaseQuerySet:
    """Return the releases of a namespace that the viewer may publish in, the newest first. The caller asks the gate."""
    rows = Release.objects.filter(namespace=namespace)
    if group:
        rows = rows.filter(state__in=GROUPS[group])
    return rows.select_related("namespace", "created_by").order_by("-created_at", "-pk")


def waiting(viewer: Viewer) -> ReleaseQuerySet:
    """Return the viewer's open releases and those that were refused lately, unless the number was tried again."""
    again = Release.objects.filter(
        kind=OuterRef("kind"),
        namespace=OuterRef("namespace"),
        name=OuterRef("name"),
        sort_key=OuterRef("sort_key"),
        pk__gt=OuterRef("pk"),
    )
    lately = Q(state__in=GROUPS[REFUSED], created_at__gte=timezone.now() - REFUSED_LATELY) & ~Exists(again)
    return releases_of(viewer).filter(Q(state__in=[*GROUPS[HELD], *GROUPS[AWAITING], *GROUPS[RUNNING]]) | lately)


def counts(viewer: Viewer) -> dict[str, int]:
    """Count the releases of each group in one query."""
    columns: dict[str, Any] = {name: Count("pk", filter=Q(state__in=states)) for name, states in GROUPS.items()}
    return _own(viewer).aggregate(**columns)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The releases that wait for a person: how many for their answer, and the numbers of those that await approval.

    `approvals` they can approve, the oldest first; in `involved` they took part, so that another person has to.
    """

    held: int = 0
    approvals: tuple[int, ...] = ()
    involved: tuple[int, ...] = ()


def waiting_for(viewer: Viewer) -> Waiting:
    """Read what waits for the viewer; one query while nothing does."""
    if not viewer.is_identified:
        return Waiting()
    is_usual = viewer.user is not None and viewer.token is None and not viewer.user.is_staff
    rows = _usually_waiting(user=viewer.user_id) if is_usual else list(_perhaps_waiting(viewer))
    perhaps = {number for number, state in rows if state == State.AWAITING_APPROVAL}
    approvals = tuple(approving.waiting_for(viewer).values_list("pk", flat=True)) if perhaps else ()
    return Waiting(len(rows) - len(perhaps), approvals, tuple(sorted(perhaps.difference(approvals))))


def _perhaps_waiting(viewer: Viewer) -> QuerySet[Any, tuple[int, str]]:
    # Not one condition with an OR: no index serves that.
    held = _own(viewer).filter(state=State.HELD)
    awaiting = Release.objects.filter(approving.perhaps_for(viewer))
    return held.values_list("pk", "state").union(awaiting.values_list("pk", "state"), all=True)


def _anyone() -> Viewer:
    """A person in a browser who is not staff, with a slot for their number."""
    return Viewer(cast("User", SimpleNamespace(pk=Slot("user", User._meta.pk), is_staff=False)))  # noqa: SLF001  # Django's public name for it


# Every page of a person asks.
_usually_waiting: CompiledQuery[tuple[int, str]] = CompiledQuery(lambda: _perhaps_waiting(_anyone()))


def _own(viewer: Viewer) -> ReleaseQuerySet:
    namespaces: QuerySet[Any] = gate.namespaces_with_role(viewer, Role.PUBLISHER)
    return Release.objects.filter(created_by=viewer.user_id, namespace__in=namespaces)
