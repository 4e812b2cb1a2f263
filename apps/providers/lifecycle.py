"""The lifecycle of a provider's version (D9): the gate, the release's verb, and what lists say of it afterwards.

Deprecating breaks nobody, so publishers do it. Yanking breaks those who pinned or locked the version, so it needs an
owner, and so does taking a yank back. Quarantine is for staff: it takes bytes from people.
A refused attempt is recorded by the gate, which is asked outside the transaction so that its row stays.
"""

from collections.abc import Callable
from functools import partial

from django.db import transaction

from apps.accounts import access, operators
from apps.accounts.access import Viewer
from apps.accounts.models import Role
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import NotFound
from apps.providers import catalogue, reading
from apps.providers.models import Provider
from apps.releases import lifecycle
from apps.releases.models import Lifecycle, Release, State


def deprecate(*, viewer: Viewer, address: ProviderAddress, version: str, reason: str, replacement: str = "") -> Release:
    """Advise against a version; it stays listed and served. Publishers."""
    release = _release(viewer, address, version, need=Role.PUBLISHER)
    act = partial(lifecycle.deprecate, release=release, actor=viewer, reason=reason, replacement=replacement)
    return _done(release, act)


def yank(*, viewer: Viewer, address: ProviderAddress, version: str, reason: str) -> Release:
    """Take a version out of lists; exact downloads and pages go on. Owners."""
    release = _release(viewer, address, version, need=Role.OWNER)
    return _done(release, partial(lifecycle.yank, release=release, actor=viewer, reason=reason))


def quarantine(*, viewer: Viewer, address: ProviderAddress, version: str, reason: str) -> Release:
    """Serve nothing of a version, nor of others with the same bytes. Staff."""
    release = _operated(viewer, address, version)
    return _done(release, partial(lifecycle.quarantine, release=release, actor=viewer, reason=reason))


def restore(*, viewer: Viewer, address: ProviderAddress, version: str, reason: str) -> Release:
    """Undo a deprecation (publishers), a yank (owners) or a quarantine (staff), whichever lies on top."""
    release = _release(viewer, address, version, need=Role.PUBLISHER)
    if release.quarantined_at is not None:
        release = _operated(viewer, address, version)
    elif release.lifecycle == Lifecycle.YANKED:
        release = _release(viewer, address, version, need=Role.OWNER)
    return _done(release, partial(lifecycle.restore, release=release, actor=viewer, reason=reason))


def release_of(viewer: Viewer, address: ProviderAddress, version: str) -> Release:
    """The published version, for those who may act on it: publishers; one in quarantine for staff alone."""
    return _release(viewer, address, version, need=Role.PUBLISHER)


def _release(viewer: Viewer, address: ProviderAddress, version: str, *, need: Role) -> Release:
    access.namespace_for(viewer, address.namespace, need=need, only_name=address.type)
    release = _found(address, version)
    if release.quarantined_at is not None and not operators.is_operator(viewer):
        raise _unknown(address, version)
    return release


def _operated(viewer: Viewer, address: ProviderAddress, version: str) -> Release:
    operators.operated_namespace(viewer, address.namespace, only_name=address.type)
    return _found(address, version)


def _found(address: ProviderAddress, version: str) -> Release:
    """What bears that number; a tombstone too, of which the verbs say what it is."""
    rows = Release.objects.filter(reading.coordinate_of(address, version), state__in=[State.PUBLISHED, State.PURGED])
    release = rows.select_related("namespace", "lifecycle_by", "quarantined_by").first()
    if release is None:
        raise _unknown(address, version)
    return release


def _unknown(address: ProviderAddress, version: str) -> NotFound:
    return NotFound(f"There is no version {version} of {address}.")


def _done(release: Release, act: Callable[[], None]) -> Release:
    """The act and what lists say of the provider, in one transaction."""
    with transaction.atomic():
        act()
        catalogue.refresh(Provider.objects.get(namespace=release.namespace, type=release.name))
    return release
