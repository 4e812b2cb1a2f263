"""What a purge takes out of a repository: whoever pushed a package left a second way to its bytes there."""

from apps.lib.formats.oci_manifests import digest_of
from apps.modules import package_manifest
from apps.modules.models import ModuleVersion
from apps.oci.models import Manifest, RepositoryBlob
from apps.releases.models import WORKING, Kind, Release, State


def forget(release: Release) -> None:
    """Drop a purged module release's manifests and its zip from the module's repository, with whatever names the zip.

    Inside the purging transaction. What another version of the module is, or is about to be, served by stays. Whoever
    pushes the same again, under another tag, has pushed it anew.
    """
    if release.kind != Kind.MODULE:
        return
    at = {"repository__namespace": release.namespace, "repository__path": release.name.lower()}
    others = Release.objects.filter(kind=release.kind, namespace=release.namespace, name=release.name)
    others = others.filter(state__in=[*WORKING, State.PUBLISHED]).exclude(pk=release.pk)
    own = {package_manifest.pushed_with(release), digest_of(package_manifest.synthesised(release))}
    served = ModuleVersion.objects.filter(release__in=others, manifest_digest__in=own)
    kept = {*served.values_list("manifest_digest", flat=True), *others.values_list("provenance__manifest", flat=True)}
    Manifest.objects.filter(**at, digest__in=own - kept).delete()
    if others.filter(uploaded_digest=release.uploaded_digest).exists():
        return
    held = RepositoryBlob.objects.filter(**at, blob__digest=release.digest)
    Manifest.objects.filter(pk__in=Manifest.objects.filter(blob_edges__blob__in=held).values("pk")).delete()
    held.delete()
