"""Who is hit when a version leaves the lists: who fetched it lately, with what, and which modules here call it (D9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q, Sum
from django.utils import timezone

from apps.accounts.access import Viewer, visible_namespaces
from apps.lib import versions
from apps.lib.addresses import ModuleAddress
from apps.lib.constraints import Constraint
from apps.lib.errors import Invalid
from apps.modules.models import ModuleCall
from apps.releases.models import DownloadCount, Fetch, Kind, Release, SearchDoc

DAYS = 30
PEOPLE = 50
CLIENTS = 12
CALLERS = 50
# More calls of one module than this are not looked through.
CALLS = 2_000
_ROW = (
    "version__release__namespace__name",
    "version__release__name",
    "version__release__version",
    "constraint",
)


@dataclass(frozen=True, slots=True)
class Caller:
    """A call in the default version of another module. `instead` is what clients take then; None: they fail."""

    address: ModuleAddress
    version: str
    constraint: str
    instead: str | None


@dataclass(frozen=True, slots=True)
class Affected:
    """`downloads` and `clients` are of the last 30 days; a person's count, and the nameless, of all time."""

    downloads: int
    clients: Sequence[tuple[str, int]]
    people: Sequence[Fetch]
    people_count: int
    nameless: int
    callers: Sequence[Caller]
    caller_count: int


def affected_by(viewer: Viewer, release: Release) -> Affected:
    """The viewer publishes it (whoever calls has asked the gate): they see who fetched it, and callers they may see."""
    since = timezone.now().date() - timedelta(days=DAYS)
    counts = DownloadCount.objects.filter(release=release)
    ever = counts.aggregate(total=Sum("count"))["total"] or 0
    lately = counts.filter(day__gte=since).values("client").annotate(total=Sum("count")).order_by("-total", "client")
    clients = [(row["client"], row["total"]) for row in lately]
    fetches = Fetch.objects.filter(release=release)
    named = fetches.aggregate(total=Sum("count"))["total"] or 0
    people = fetches.filter(last_on__gte=since).select_related("user").order_by("-last_on", "user__username", "pk")
    shown = list(people[: PEOPLE + 1])
    callers = _callers(viewer, release)
    return Affected(
        downloads=sum(count for _, count in clients),
        clients=clients[:CLIENTS],
        people=shown[:PEOPLE],
        people_count=len(shown) if len(shown) <= PEOPLE else people.count(),
        nameless=max(0, ever - named),
        callers=callers[:CALLERS],
        caller_count=len(callers),
    )


def same_bytes_elsewhere(release: Release) -> list[Release]:
    """Other published releases with the same archive: a quarantine blocks them too, and a purge leaves them theirs."""
    others = Release.objects.published().filter(digest=release.digest).exclude(pk=release.pk)
    return list(others.select_related("namespace").order_by("namespace__name", "name", "-sort_key", "pk")[:CALLERS])


def _callers(viewer: Viewer, release: Release) -> list[Caller]:
    """Those first that are left with nothing."""
    name, _, system = release.name.partition("/")
    defaults = SearchDoc.objects.filter(kind=Kind.MODULE, namespace__in=visible_namespaces(viewer)).values("release")
    calls = ModuleCall.objects.filter(
        target_namespace=release.namespace.name, target_name=name, target_system=system, version__release__in=defaults
    )
    # What an example uses is not what the module's own users get; and a module does not call itself.
    calls = calls.exclude(unit__startswith="examples/").exclude(
        Q(version__release__namespace=release.namespace, version__release__name=release.name)
    )
    found = list(calls.values_list(*_ROW).distinct().order_by(*_ROW)[:CALLS])
    if not found:
        return []
    this = versions.parse(release.version)
    same = {"kind": release.kind, "namespace": release.namespace, "name": release.name}
    left = list(Release.objects.listed().filter(**same).exclude(pk=release.pk).values_list("version", flat=True))
    callers = [_caller(row, this, left) for row in found]
    hit = [caller for caller in callers if caller is not None]
    return sorted(hit, key=lambda caller: caller.instead is not None)


def _caller(row: tuple[str, str, str, str], this: versions.Version, left: Sequence[str]) -> Caller | None:
    namespace, path_name, version, text = row
    try:
        constraint = Constraint.parse(text)
    except Invalid:
        return None  # clients cannot read it either
    if not constraint.allows(this):
        return None
    name, _, system = path_name.partition("/")
    return Caller(ModuleAddress(namespace, name, system), version, text, constraint.highest(left))
