"""Find the repository of a request, and check what its caller may do there (D8, oci.md 3.4)."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypedDict

from django.db import IntegrityError, transaction
from django.db.models.functions import Lower

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import reauthorising
from apps.accounts.models import Namespace, Role
from apps.artifacts.errors import NameInvalid, NameUnknown, Unsupported
from apps.artifacts.models import Repository
from apps.artifacts.names import ProviderMirror, RepositoryAddress, name_of, parse_name
from apps.jobs import database_availability
from apps.lib.addresses import OCI_WORDS, ModuleAddress, canonical
from apps.lib.errors import CredentialsRequired, Invalid, NotFound
from apps.modules import publishing
from apps.modules.models import Module, ModuleVersion, ModuleVersionQuerySet
from apps.oci.authentication import Caller

# Clients ask without credentials where they have none: they get an anonymous token, and then this.
SIGN_IN = (
    "If it is private, sign in with an API token: docker login, oras login, or an oci_credentials block in the CLI "
    "configuration. OpenTofu does not use the token of tofu login here."
)
FIRST_PART = (
    "The first part of its name must be a namespace in which you can publish: check the spelling, or ask for a role in "
    "one."
)


class Coordinate(TypedDict):
    namespace: int
    canonical: str
    name: str


@dataclass(frozen=True)
class VisibleRepository:
    """A repository of a namespace that the caller sees. `row` is None if nothing was ever pushed to it, `module` if
    nothing of it is published; if both are None it is empty so far. Each is one query, when it is asked for.

    `address` is as clients say it, in lower case.
    """

    address: RepositoryAddress
    namespace: Namespace

    @classmethod
    def of(cls, repository: Repository) -> Self:
        return cls(repository.address, repository.namespace)

    @cached_property
    def row(self) -> Repository | None:
        row = Repository.objects.filter(namespace=self.namespace, path=self.address.path_name).first()
        if row is not None:
            row.namespace = self.namespace
        return row

    @cached_property
    def module(self) -> Module | None:
        if not self.is_module:
            return None
        path = self.address.path_name
        module = Module.objects.filter(namespace=self.namespace, canonical=canonical(path)).first()
        if module is None or f"{module.name}/{module.system}".lower() != path:
            return None
        module.namespace = self.namespace
        return module

    @property
    def is_module(self) -> bool:
        """True if the name is a module's, published or not. Others have no releases: their tags are rows."""
        return isinstance(self.address, ModuleAddress)

    @property
    def coordinate(self) -> Coordinate:
        """The key by which `versions_of` finds versions, without a query for the module itself."""
        path = self.address.path_name
        return {"namespace": self.namespace.pk, "canonical": canonical(path), "name": path.partition("/")[0]}

    @property
    def here(self) -> dict[str, Any]:
        """The condition for rows of the repository, without a query for it."""
        return {"repository__namespace": self.namespace, "repository__path": self.address.path_name}

    @property
    def registered(self) -> RepositoryAddress:
        """The module's address with its capitals. A module that a push creates has none but the namespace's."""
        if self.module is not None:
            return self.module.address
        return replace(self.address, namespace=self.namespace.name)

    @property
    def is_there(self) -> bool:
        return self.row is not None or self.module is not None


def versions_of(namespace: int, canonical: str, name: str) -> ModuleVersionQuerySet:
    """Of the module that is `name` in lower case: by the folded form alone `-` would find `_` (D10)."""
    rows = ModuleVersion.objects.alias(lowered=Lower("module__name")).filter(lowered=name)
    return rows.filter(module__namespace=namespace, module__canonical=canonical)


def find(caller: Caller, address: RepositoryAddress, *, need: Role = Role.READER) -> VisibleRepository:
    """Raises CredentialsRequired (a challenge helps), NameUnknown (hidden and missing alike) or RoleRequired."""
    try:
        namespace = gate.namespace_for(
            caller.viewer, address.namespace, need=need, only_name=address.path_name, spelled=str.lower
        )
    except NotFound:
        raise unknown(address, hint=FIRST_PART if need > Role.READER else "") from None
    except CredentialsRequired:
        if caller.has_token and need == Role.READER:
            raise unknown(address, hint=SIGN_IN) from None
        raise
    return VisibleRepository(address, namespace)


def require_there(found: VisibleRepository) -> None:
    """Raises NameUnknown for an empty repository."""
    if not found.is_there:
        raise unknown(found.address)


def authorise_again(caller: Caller, repository: Repository) -> None:
    """Check the rights again after a long body. Raises what `find` raises."""
    database_availability.release_connection()
    try:
        reauthorising.authorise_again(caller.viewer, repository.namespace, only_name=repository.path)
    except NotFound:
        raise unknown(repository) from None


def pushable(caller: Caller, name: str) -> RepositoryAddress:
    """Raises NameInvalid, and Unsupported for the mirror of a provider."""
    address = parse_name(name)
    if not isinstance(address, ProviderMirror):
        return address
    if not caller.viewer.is_identified:
        raise CredentialsRequired("Pushing needs credentials.", hint="Send an API token.")
    raise Unsupported(
        "The mirror of a provider is generated from its releases and is read-only.",
        hint="Publish the provider on its page, or through the API: a release needs checksums and a signature.",
    )


def for_push(caller: Caller, address: RepositoryAddress) -> Repository:
    """Return the repository's row; the first push of a publisher creates it.

    Raises NameInvalid, and Conflict for a name too similar to that of a module.
    """
    found = find(caller, address, need=Role.PUBLISHER)
    if found.row is not None:
        return found.row
    module = found.registered
    try:
        if isinstance(module, ModuleAddress):
            publishing.check_address(found.namespace, module)
        elif reserved := [part for part in address.path_name.split("/") if part in OCI_WORDS]:
            raise Invalid(
                f"{reserved[0]!r} in {address} is reserved: {OCI_WORDS[reserved[0]]}.", hint="Choose another name."
            )
    except Invalid as refusal:
        raise NameInvalid(str(refusal), hint=refusal.hint) from None
    try:
        with transaction.atomic():  # parallel first blobs race: the constraint alone decides
            return Repository.objects.create(
                namespace=found.namespace, path=address.path_name, created_by=caller.viewer.user
            )
    except IntegrityError:
        return Repository.objects.select_related("namespace").get(namespace=found.namespace, path=address.path_name)


def for_delete(caller: Caller, address: RepositoryAddress) -> VisibleRepository:
    """Publishers may delete: clients use one token for push and delete (oci.md 3.2)."""
    found = find(caller, address, need=Role.PUBLISHER)
    require_there(found)
    return found


def visible_names(viewer: Viewer) -> set[str]:
    """Return the names of all repositories and modules that the viewer may read."""
    namespaces = gate.visible_namespaces(viewer)
    pushed = Repository.objects.filter(namespace__in=namespaces).values_list("namespace__name", "path")
    modules = Module.objects.filter(namespace__in=namespaces).values_list("namespace__name", "name", "system")
    paths = [*pushed, *((namespace, f"{name}/{system}") for namespace, name, system in modules)]
    return {name_of(namespace, path) for namespace, path in paths}


def unknown(address: object, *, hint: str = "") -> NameUnknown:
    """The same text for hidden and missing repositories."""
    return NameUnknown(f"There is no repository {address} that you may see.", hint=hint)
