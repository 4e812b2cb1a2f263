"""The lifecycle of a module's version (D9): the gate, the release's verb, and what lists say of the module afterwards.

Deprecating breaks nobody, so publishers do it. Yanking breaks those who pinned or locked the version, so it needs an
owner, and so does taking a yank back. Quarantine and purge are for staff: they take bytes from people.
A refused attempt is recorded by the gate, which is asked outside the transaction so that its row stays.
"""

from collections.abc import Callable
from functools import partial

from django.db import transaction

from apps.accounts import access, operators
from apps.accounts.access import Viewer
from apps.accounts.models import Role
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Invalid, NotFound
from apps.modules import catalogue, reading
from apps.modules.models import Module, ModuleVersion
from apps.releases import lifecycle, purging
from apps.releases.models import Lifecycle, Release, State


def deprecate(*, viewer: Viewer, address: ModuleAddress, version: str, reason: str, replacement: str = "") -> Release:
    """Advise against a version; it stays listed and served. Publishers."""
    release = _release(viewer, address, version, need=Role.PUBLISHER)
    act = partial(lifecycle.deprecate, release=release, actor=viewer, reason=reason, replacement=replacement)
    return _done(release, act)


def yank(*, viewer: Viewer, address: ModuleAddress, version: str, reason: str) -> Release:
    """Take a version out of lists; exact downloads and pages go on. Owners."""
    release = _release(viewer, address, version, need=Role.OWNER)
    return _done(release, partial(lifecycle.yank, release=release, actor=viewer, reason=reason))


def quarantine(*, viewer: Viewer, address: ModuleAddress, version: str, reason: str) -> Release:
    """Serve nothing of a version, nor of others with the same bytes. Staff."""
    release = _operated(viewer, address, version)
    return _done(release, partial(lifecycle.quarantine, release=release, actor=viewer, reason=reason))


def restore(*, viewer: Viewer, address: ModuleAddress, version: str, reason: str) -> Release:
    """Undo a deprecation (publishers), a yank (owners) or a quarantine (staff), whichever lies on top."""
    release = _release(viewer, address, version, need=Role.PUBLISHER)
    if release.quarantined_at is not None:
        release = _operated(viewer, address, version)
    elif release.lifecycle == Lifecycle.YANKED:
        release = _release(viewer, address, version, need=Role.OWNER)
    return _done(release, partial(lifecycle.restore, release=release, actor=viewer, reason=reason))


def purge(*, viewer: Viewer, address: ModuleAddress, version: str, reason: str, confirm: str) -> Release:
    """Remove a version for good: its rows now, its bytes by a worker. The number stays taken. Staff.

    `confirm` is the full `namespace/name/system version`, as somebody typed it.
    """
    return _purge(_operated(viewer, address, version), viewer, reason, confirm)


def purge_here(*, address: ModuleAddress, version: str, reason: str, confirm: str) -> Release:
    """As `purge`, for whoever sits at the machine itself: Larder asks no gate then, and the audit names nobody."""
    return _purge(_found(address, version), access.NOBODY, reason, confirm)


def release_of(viewer: Viewer, address: ModuleAddress, version: str) -> Release:
    """The published version, for those who may act on it: publishers; one in quarantine for staff alone."""
    return _release(viewer, address, version, need=Role.PUBLISHER)


def _purge(release: Release, actor: Viewer, reason: str, confirm: str) -> Release:
    if confirm.split() != str(release).split():
        raise Invalid(
            f"The confirmation reads {confirm[:200]!r}, expected {str(release)!r}.",
            mend="Type the address and the version exactly: this cannot be undone.",
        )

    def act() -> None:
        purging.purge(release=release, actor=actor, reason=reason)
        ModuleVersion.objects.filter(release=release).delete()

    return _done(release, act)


def _release(viewer: Viewer, address: ModuleAddress, version: str, *, need: Role) -> Release:
    access.namespace_for(viewer, address.namespace, need=need, only_name=address.path_name)
    release = _found(address, version)
    if release.quarantined_at is not None and not operators.is_operator(viewer):
        raise _unknown(address, version)
    return release


def _operated(viewer: Viewer, address: ModuleAddress, version: str) -> Release:
    operators.operated_namespace(viewer, address.namespace, only_name=address.path_name)
    return _found(address, version)


def _found(address: ModuleAddress, version: str) -> Release:
    """What bears that number; a tombstone too, of which the verbs say what it is."""
    rows = Release.objects.filter(reading.coordinate_of(address, version), state__in=[State.PUBLISHED, State.PURGED])
    release = rows.select_related("namespace", "lifecycle_by", "quarantined_by").first()
    if release is None:
        raise _unknown(address, version)
    return release


def _unknown(address: ModuleAddress, version: str) -> NotFound:
    return NotFound(f"There is no version {version} of {address}.")


def _done(release: Release, act: Callable[[], None]) -> Release:
    """The act and what lists say of the module, in one transaction."""
    name, _, system = release.name.partition("/")
    with transaction.atomic():
        act()
        catalogue.refresh(Module.objects.get(namespace=release.namespace, name=name, system=system))
    return release
