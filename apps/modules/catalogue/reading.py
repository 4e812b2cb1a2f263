"""Reading modules through the gate."""

import uuid
from typing import NamedTuple

from django.db.models import Q

from apps.accounts.access import gate, operators
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.lib import versions
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import CredentialsRequired, Invalid, NotFound
from apps.modules.models import Module, ModuleQuerySet, ModuleVersion
from apps.releases import tombstones
from apps.releases.models import Kind, Release


class Listed(NamedTuple):
    versions: list[str]
    source_url: str


def visible_modules(viewer: Viewer) -> ModuleQuerySet:
    return Module.objects.filter(namespace__in=gate.visible_namespaces(viewer))


def module_for(viewer: Viewer, address: ModuleAddress) -> Module:
    """The module, or CredentialsRequired, or NotFound: a name that no row can have is simply not there."""
    namespace = gate.namespace_for(viewer, address.namespace)
    found = Module.objects.filter(namespace=namespace, name=address.name, system=address.system)
    module = found.select_related("namespace").first()
    if module is None:
        raise NotFound(f"There is no module {address.path_name} in {namespace.name}.")
    return module


def version_for(
    viewer: Viewer, address: ModuleAddress, version: str, *, even_quarantined: bool = False, with_markdown: bool = False
) -> ModuleVersion:
    """The version that equals `version` by precedence: clients normalise what they were told (M6). Yanked ones too.

    What is in quarantine is not there, but for staff on pages that say so (`even_quarantined`) and give out no bytes.
    """
    module = module_for(viewer, address)
    rows = ModuleVersion.objects.filter(module=module, release__sort_key=_sort_key(address, version))
    if not with_markdown:
        rows = rows.for_pages()
    if not (even_quarantined and operators.is_operator(viewer)):
        rows = rows.published()
    people = ("created_by", "lifecycle_by", "quarantined_by")
    found = rows.select_related("release__namespace", *(f"release__{one}" for one in people), "module__namespace")
    module_version = found.first()
    if module_version is None:
        raise _no_version(address, version)
    return module_version


def listed_versions(viewer: Viewer, address: ModuleAddress) -> Listed:
    """Every listed version, highest first by SemVer precedence (the index gives the order), and the repository.

    Two queries, for a protocol read has a budget: a module is there exactly when it has a version. Where all that it
    has are yanked the list is empty: clients then say that it has no versions, and not that it cannot be found.
    """
    namespace = gate.namespace_for(viewer, address.namespace)
    rows = ModuleVersion.objects.published().filter(
        module__namespace=namespace, module__name=address.name, module__system=address.system
    )
    listed = list(rows.listed().newest_first().values_list("release__version", "module__source_url"))
    if not listed and not rows.exists():
        raise NotFound(f"There is no module {address.path_name} in {namespace.name}.")
    return Listed([version for version, _ in listed], listed[0][1] if listed else "")


def published_release(viewer: Viewer, address: ModuleAddress, version: str) -> Release:
    """As `version_for`, for a client's download: without the texts of the page, in two queries."""
    namespace = gate.namespace_for(viewer, address.namespace)
    key = _sort_key(address, version)
    rows = Release.objects.published().filter(kind="module", namespace=namespace, name=address.path_name, sort_key=key)
    release = rows.select_related("namespace").first()
    if release is None:
        raise NotFound(f"There is no version {version} of {address}.")
    return release


def release_for(viewer: Viewer, public_id: uuid.UUID) -> Release:
    """A release as its publishers see it, on its way or ended: publishers of the namespace only.

    Whoever guesses an id learns nothing from the answer: the same for what is hidden and what is not there.
    """
    if not viewer.is_identified:
        raise CredentialsRequired("A release is shown to those who publish in its namespace.")
    release = Release.objects.filter(public_id=public_id).select_related("namespace", "created_by").first()
    if release is None or gate.role_on(viewer, release.namespace) is None:
        raise NotFound("There is no such release.")
    # With the name: a token that is limited to it publishes it, so it may see how that goes.
    gate.namespace_for(viewer, release.namespace.name, need=Role.PUBLISHER, only_name=release.name)
    return release


def latest_release(viewer: Viewer, address: ModuleAddress, version: str) -> Release:
    """The newest release of an exact version in any state, for the script that asks how its upload went (D24)."""
    namespace = gate.namespace_for(viewer, address.namespace, need=Role.READER)
    rows = Release.objects.filter(
        kind="module", namespace=namespace, name=address.path_name, sort_key=versions.sort_key(version)
    )
    if gate.role_on(viewer, namespace, only_name=address.path_name) in (None, Role.READER):
        rows = rows.published() | rows.removed()
    release = rows.select_related("namespace", "lifecycle_by").order_by("-pk").first()
    if release is None:
        raise NotFound(f"There is no version {version} of {address}.")
    return release


def coordinate_of(address: ModuleAddress, version: str) -> Q:
    """The releases, in any state, that bear this number. Asks no gate: whoever calls has done so."""
    return Q(
        kind=Kind.MODULE,
        namespace__name=address.namespace,
        name=address.path_name,
        sort_key=_sort_key(address, version),
    )


def _sort_key(address: ModuleAddress, version: str) -> bytes:
    try:
        return versions.sort_key(version)
    except Invalid as error:
        raise NotFound(f"There is no version {version!r} of {address}: {error}") from None


def _no_version(address: ModuleAddress, version: str) -> NotFound:
    """Where somebody removed it, who comes for it learns that, and why; the gate has let them in before."""
    tombstone = Release.objects.removed().filter(coordinate_of(address, version)).select_related("namespace").first()
    if tombstone is not None:
        return NotFound(tombstones.sentence_of(tombstone), mend="The page of all versions shows what there is.")
    return NotFound(f"There is no version {version} of {address}.")
