"""The lifecycle of a provider version (D9); steps and permissions are in `releases.lifecycle.actions`."""

from apps.lib.addresses import ProviderAddress
from apps.providers import catalogue, reading
from apps.providers.models import Provider, ProviderVersion
from apps.providers.signatures import reverification
from apps.releases.lifecycle.actions import Acts
from apps.releases.models import Release


def _refresh(release: Release) -> None:
    catalogue.refresh(Provider.objects.get(namespace=release.namespace, type=release.name))


def _drop(release: Release) -> None:
    """Also drops packages and former signatures; the release's blobs still name their bytes."""
    ProviderVersion.objects.filter(release=release).delete()


ACTS: Acts[ProviderAddress] = Acts(
    coordinate_of=reading.coordinate_of, refresh=_refresh, drop=_drop, verify_job=reverification.JOB
)

deprecate, yank, quarantine, restore = ACTS.deprecate, ACTS.yank, ACTS.quarantine, ACTS.restore
purge, purge_here, verify, release_of = ACTS.purge, ACTS.purge_here, ACTS.verify, ACTS.release_of
