"""The lifecycle of a provider version (D9); steps and permissions are in `releases.lifecycle.actions`."""

from django.db.models import Q

from apps.lib.addresses import ProviderAddress
from apps.providers import catalogue, reading
from apps.providers.models import Provider, ProviderVersion
from apps.providers.signatures import reverification
from apps.releases.lifecycle.actions import VersionActions
from apps.releases.models import Release


class ProviderActions(VersionActions[ProviderAddress]):
    address_type = ProviderAddress
    verify_job = reverification.JOB

    def address_of(self, release: Release) -> ProviderAddress:
        return ProviderAddress(release.namespace.name, release.name)

    def coordinate_of(self, address: ProviderAddress, version: str) -> Q:
        return reading.coordinate_of(address, version)

    def refresh(self, release: Release) -> None:
        catalogue.refresh(_provider_of(release))

    def drop(self, release: Release) -> None:
        """Also drops packages and former signatures; the release's blobs still name their bytes."""
        ProviderVersion.objects.filter(release=release).delete()

    def default_version(self, release: Release) -> ProviderVersion | None:
        return catalogue.default_version(_provider_of(release))


def _provider_of(release: Release) -> Provider:
    return Provider.objects.get(namespace=release.namespace, type=release.name)


ACTIONS = ProviderActions()

deprecate, yank, quarantine, restore = ACTIONS.deprecate, ACTIONS.yank, ACTIONS.quarantine, ACTIONS.restore
purge, purge_here, verify, release_of = ACTIONS.purge, ACTIONS.purge_here, ACTIONS.verify, ACTIONS.release_of
