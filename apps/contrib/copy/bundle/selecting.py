"""Choose what a bundle takes along: by namespaces, by lock files, by the date of publication; else everything."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db.models import Q

from apps.accounts.models import Namespace
from apps.http import mirrors
from apps.lib.addresses import canonical
from apps.lib.errors import NotFound
from apps.lib.formats.lock_files import LockFile, written
from apps.lib.mirrored import HostedProvider, MirroredPackage
from apps.releases.models import Kind, Release, ReleaseQuerySet, State, visible_now

# A provider of another registry, a version of it, and what is stored of that.
Mirrored = tuple[HostedProvider, str, Sequence[MirroredPackage]]


@dataclass(frozen=True, slots=True)
class Selection:
    """Releases of the namespaces, and the providers that the lock files name. Without either: of all namespaces.

    `published_from` limits what is chosen by namespace.
    """

    namespaces: Collection[str] = ()
    locks: Collection[LockFile] = field(default_factory=tuple)
    published_from: datetime | None = None


def chosen(selection: Selection) -> ReleaseQuerySet:
    """Return releases that clients see, yanked ones too; and those in quarantine or purged, of which no byte leaves.

    Raises NotFound for a namespace or a locked version that is not here.
    """
    wanted = Q(pk__in=[])
    if selection.namespaces or not selection.locks:
        wanted = Q(namespace__deleted_at=None)
        if selection.namespaces:
            wanted &= Q(namespace__in=[_namespace(name) for name in selection.namespaces])
        if selection.published_from:
            wanted &= Q(published_at__gte=selection.published_from)
    rows = Release.objects.filter(visible_now(), state__in=[State.PUBLISHED, State.PURGED])
    for lock in selection.locks:
        wanted |= _locked(lock, rows)
    return rows.filter(wanted).select_related("namespace").order_by("namespace", "kind", "name", "sort_key")


def _namespace(name: str) -> Namespace:
    found = Namespace.objects.filter(canonical=canonical(name)).first()
    if found is None:
        raise NotFound(f"There is no namespace {name!r}.", hint="Check the spelling.")
    return found


def _locked(lock: LockFile, rows: ReleaseQuerySet) -> Q:
    found = Q(pk__in=[])
    for provider, locked in lock.providers.items():
        if provider.host not in settings.HOSTNAMES:
            continue
        its = Q(namespace__canonical=canonical(provider.namespace), name=provider.type, version=locked.version)
        its &= Q(kind=Kind.PROVIDER)
        if not rows.filter(its).exists():
            raise _missing(provider, locked.version, "Publish it, or change the lock file.")
        found |= its
    return found


def mirrored(selection: Selection) -> Iterator[Mirrored]:
    """Yield versions of other registries' providers with what is stored of them. Those that the lock files name; or all
    if everything is chosen.

    Raises NotFound for a locked version of which nothing is stored.
    """
    if mirrors.others is not None and not (selection.namespaces or selection.locks or selection.published_from):
        for provider in mirrors.others.copied_providers():
            copied = mirrors.others.copied(provider)
            yield from ((provider, number, packages) for number, packages in (copied.versions if copied else ()))
    for lock in selection.locks:
        for provider, locked in lock.providers.items():
            if provider.host in settings.HOSTNAMES:
                continue
            copied = mirrors.others.copied(provider) if mirrors.others is not None else None
            packages = dict(copied.versions).get(locked.version) if copied else None
            if not packages:
                raise _missing(provider, locked.version, "Sync it first: manage.py upstream sync --lock FILE.")
            yield provider, locked.version, packages


def _missing(provider: HostedProvider, version: str, hint: str) -> NotFound:
    return NotFound(f"A lock file names {written(provider)} {version}, which is not stored here.", hint=hint)
