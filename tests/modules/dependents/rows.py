"""Module blocks and required providers of modules, as rows."""

from django.utils import timezone

from apps.accounts.models import User
from apps.lib.addresses import canonical
from apps.modules.models import (
    Configuration,
    ConfigurationUse,
    Module,
    ModuleCall,
    ModuleVersion,
    ProviderRequirement,
)
from apps.releases.models import Release, SearchDoc


def default_of(module: Module) -> ModuleVersion:
    doc = SearchDoc.objects.get(namespace=module.namespace, name=module.address.path_name)
    return ModuleVersion.objects.get(release=doc.release_id)


def calls(module: Module, *targets: str, constraint: str = "", source: str = "", unit: str = "") -> None:
    """The default version of the module calls each target; `source` if the spelling matters."""
    parts = ("target_namespace", "target_name", "target_system")
    ModuleCall.objects.bulk_create(
        ModuleCall(
            version=default_of(module),
            unit=unit,
            name="x",
            source=source or f"here.example/{target}",
            constraint=constraint,
            **dict(zip(parts, target.split("/"), strict=True)),
        )
        for target in targets
    )


def requires(module: Module, *providers: str, constraint: str = "") -> None:
    ProviderRequirement.objects.bulk_create(
        ProviderRequirement(
            version=default_of(module),
            constraint=constraint,
            target_namespace=canonical(provider.partition("/")[0]),
            target_type=provider.partition("/")[2],
        )
        for provider in providers
    )


def reported(user: User, release: Release, repository: str, *, folder: str = "", constraint: str = "") -> None:
    """The pipeline of the account reported that the configuration has the release installed."""
    row = Configuration.objects.create(reporter=user, repository=repository, folder=folder, reported_at=timezone.now())
    ConfigurationUse.objects.create(configuration=row, release=release, constraint=constraint)
