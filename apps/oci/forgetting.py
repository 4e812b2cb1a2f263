"""What a purge takes out of a repository: whoever pushed a package left a second way to its bytes there."""

from apps.oci.models import Manifest, RepositoryBlob
from apps.releases.models import WORKING, Kind, Release, State


def forget(release: Release) -> None:
    """Drop the zip of a purged module release from the module's repository, with every manifest and tag that names it.

    Inside the purging transaction. Where another version of the module has, or is about to have, the same bytes, they
    stay: that version is served by them.
    """
    if release.kind != Kind.MODULE:
        return
    same = Release.objects.filter(kind=release.kind, namespace=release.namespace, name=release.name)
    living = same.filter(uploaded_digest=release.uploaded_digest, state__in=[*WORKING, State.PUBLISHED])
    if living.exclude(pk=release.pk).exists():
        return
    held = RepositoryBlob.objects.filter(
        repository__namespace=release.namespace, repository__path=release.name, blob__digest=release.digest
    )
    Manifest.objects.filter(pk__in=Manifest.objects.filter(blob_edges__blob__in=held).values("pk")).delete()
    held.delete()
