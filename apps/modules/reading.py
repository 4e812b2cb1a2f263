"""Reading modules through the gate."""

import uuid

from apps.accounts import access
from apps.accounts.access import Viewer
from apps.accounts.models import Role
from apps.lib import versions
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import CredentialsRequired, Invalid, NotFound
from apps.modules.models import Module, ModuleQuerySet, ModuleVersion
from apps.releases.models import Release


def visible_modules(viewer: Viewer) -> ModuleQuerySet:
    return Module.objects.filter(namespace__in=access.visible_namespaces(viewer))


def module_for(viewer: Viewer, address: ModuleAddress) -> Module:
    """The module, or CredentialsRequired, or NotFound: a name that no row can have is simply not there."""
    namespace = access.namespace_for(viewer, address.namespace)
    found = Module.objects.filter(namespace=namespace, name=address.name, system=address.system)
    module = found.select_related("namespace").first()
    if module is None:
        raise NotFound(f"There is no module {address.path_name} in {namespace.name}.")
    return module


def version_for(viewer: Viewer, address: ModuleAddress, version: str) -> ModuleVersion:
    """The published version that equals `version` by precedence: clients normalise what they were told (M6)."""
    module = module_for(viewer, address)
    try:
        key = versions.sort_key(version)
    except Invalid as error:
        raise NotFound(f"There is no version {version!r} of {address}: {error}") from None
    found = ModuleVersion.objects.filter(module=module, release__sort_key=key).select_related(
        "release__namespace", "release__created_by", "module__namespace"
    )
    module_version = found.first()
    if module_version is None:
        raise NotFound(f"There is no version {version} of {address}.")
    return module_version


def listed_versions(viewer: Viewer, address: ModuleAddress) -> list[str]:
    """Every listed version, highest first by SemVer precedence (the index gives the order).

    Two queries, for a protocol read has a budget: a module is there exactly when it has a version.
    """
    namespace = access.namespace_for(viewer, address.namespace)
    rows = ModuleVersion.objects.filter(
        module__namespace=namespace, module__name=address.name, module__system=address.system
    )
    listed = list(rows.newest_first().values_list("release__version", flat=True))
    if not listed:
        raise NotFound(f"There is no module {address.path_name} in {namespace.name}.")
    return listed


def published_release(viewer: Viewer, address: ModuleAddress, version: str) -> Release:
    """As `version_for`, for a client's download: without the texts of the page, in two queries."""
    namespace = access.namespace_for(viewer, address.namespace)
    try:
        key = versions.sort_key(version)
    except Invalid as error:
        raise NotFound(f"There is no version {version!r} of {address}: {error}") from None
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
    if release is None or access.role_on(viewer, release.namespace) is None:
        raise NotFound("There is no such release.")
    # With the name: a token that is limited to it publishes it, so it may see how that goes.
    access.namespace_for(viewer, release.namespace.name, need=Role.PUBLISHER, only_name=release.name)
    return release


def latest_release(viewer: Viewer, address: ModuleAddress, version: str) -> Release:
    """The newest release of an exact version in any state, for the script that asks how its upload went (D24)."""
    namespace = access.namespace_for(viewer, address.namespace, need=Role.READER)
    rows = Release.objects.filter(
        kind="module", namespace=namespace, name=address.path_name, sort_key=versions.sort_key(version)
    )
    if access.role_on(viewer, namespace, only_name=address.path_name) in (None, Role.READER):
        rows = rows.published()
    release = rows.select_related("namespace").order_by("-pk").first()
    if release is None:
        raise NotFound(f"There is no version {version} of {address}.")
    return release
