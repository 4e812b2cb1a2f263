"""Which repository a request means, and whether its caller may do what it asks (D8, oci.md 3.4)."""

from dataclasses import dataclass

from django.db import IntegrityError, transaction

from apps.accounts import access
from apps.accounts.models import Namespace, Role
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import CredentialsRequired, Invalid, NotFound
from apps.modules import publishing
from apps.modules.models import Module
from apps.oci.authentication import Caller
from apps.oci.errors import NameInvalid, NameUnknown
from apps.oci.models import Repository


@dataclass(frozen=True, slots=True)
class Found:
    """A repository of a namespace that the caller sees. `row` is None where nobody ever pushed to it, `module` where
    nothing of it is published; where both are None there is nothing in it yet.
    """

    address: ModuleAddress
    namespace: Namespace
    row: Repository | None
    module: Module | None

    @property
    def is_there(self) -> bool:
        return self.row is not None or self.module is not None


def find(caller: Caller, address: ModuleAddress, *, need: Role = Role.READER) -> Found:
    """Raises CredentialsRequired (a challenge helps), NameUnknown (hidden and missing alike) or RoleRequired."""
    try:
        namespace = access.namespace_for(caller.viewer, address.namespace, need=need, only_name=address.path_name)
    except NotFound:
        raise unknown(address) from None
    except CredentialsRequired:
        if caller.has_token and need == Role.READER:
            raise unknown(address) from None
        raise
    row = Repository.objects.filter(namespace=namespace, path=address.path_name).first()
    module = Module.objects.filter(namespace=namespace, name=address.name, system=address.system).first()
    return Found(address, namespace, row, module)


def existing(caller: Caller, address: ModuleAddress, *, need: Role = Role.READER) -> Found:
    """As `find`, and NameUnknown too where there is nothing in it."""
    found = find(caller, address, need=need)
    if not found.is_there:
        raise unknown(address)
    return found


def for_push(caller: Caller, address: ModuleAddress) -> Repository:
    """The repository's row, made by the first push of somebody who may publish there."""
    found = find(caller, address, need=Role.PUBLISHER)
    if found.row is not None:
        found.row.namespace = found.namespace
        return found.row
    try:
        publishing.check_address(found.namespace, address)
    except Invalid as refusal:
        raise NameInvalid(str(refusal), mend=refusal.mend) from None
    try:
        with transaction.atomic():  # parallel first blobs race: the constraint alone decides
            return Repository.objects.create(
                namespace=found.namespace, path=address.path_name, created_by=caller.viewer.user
            )
    except IntegrityError:
        return Repository.objects.select_related("namespace").get(namespace=found.namespace, path=address.path_name)


def unknown(address: object) -> NameUnknown:
    """One text for what is hidden and what is not there."""
    return NameUnknown(f"There is no repository {address} that you may see.")
