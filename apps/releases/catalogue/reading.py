"""Read releases of both kinds, in any state."""

import uuid
from typing import Any

from django.db.models import Q

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role
from apps.lib import versions
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import CredentialsRequired, Invalid, NotFound
from apps.releases import tombstones
from apps.releases.models import Release


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
        return NotFound(tombstones.sentence_of(tombstone), hint="The versions page lists all versions.")
    return NotFound(f"There is no version {version} of {address}.")


def require_published(parent: Any) -> None:
    """A module or provider of which nothing can be read is not there. Raises NotFound."""
    if not parent.versions.published().exists():
        raise NotFound(f"{parent.address} has no published version.")
