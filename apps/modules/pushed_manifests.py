"""What releases of modules need of what was pushed to their repositories, and what a purge takes out of them."""

from django.db.models import Exists, OuterRef, Q, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Lower, Replace

from apps.accounts.models import Namespace
from apps.artifacts import repositories
from apps.lib.formats.oci_manifests import digest_of
from apps.modules import package_manifest
from apps.modules.models import ModuleVersion
from apps.releases.models import WORKING, Kind, Release, State


def needs(column: str) -> Q:
    """Of rows in a repository: whether a version of its module, in quarantine or not, is served by the manifest whose
    digest is in `column`, or will be once it is published.
    """
    served = ModuleVersion.objects.filter(
        manifest_digest=OuterRef(column),
        module__namespace=OuterRef("repository__namespace"),
        module__canonical=Replace(OuterRef("repository__path"), Value("_"), Value("-")),
    )
    coming = Release.objects.alias(path=Lower("name"), pushed=KT(f"provenance__{package_manifest.PUSHED}")).filter(
        kind=Kind.MODULE,
        namespace=OuterRef("repository__namespace"),
        state__in=WORKING,
        path=OuterRef("repository__path"),
        pushed=OuterRef(column),
    )
    return Q(Exists(served)) | Q(Exists(coming))


def is_needed(namespace: Namespace, name: str, digest: str) -> bool:
    """As `needs`, for one manifest in the repository of the module that is registered under that name."""
    releases = Release.objects.filter(kind=Kind.MODULE, namespace=namespace, name=name)
    served = ModuleVersion.objects.filter(release__in=releases, manifest_digest=digest)
    return served.exists() or releases.live().filter(provenance__manifest=digest).exists()


def drop(release: Release) -> None:
    """Inside the purging transaction: whoever pushed a package left a second way to its bytes in the repository.

    Its manifests go, and its zip with whatever names it. What another version of the module is, or is about to be,
    served by stays. Whoever pushes the same again, under another tag, has pushed it anew.
    """
    others = Release.objects.filter(kind=Kind.MODULE, namespace=release.namespace, name=release.name)
    others = others.filter(state__in=[*WORKING, State.PUBLISHED]).exclude(pk=release.pk)
    own = {package_manifest.pushed_with(release), digest_of(package_manifest.synthesised(release))}
    served = ModuleVersion.objects.filter(release__in=others, manifest_digest__in=own)
    stay = {*served.values_list("manifest_digest", flat=True), *others.values_list("provenance__manifest", flat=True)}
    is_shared = others.filter(uploaded_digest=release.uploaded_digest).exists()
    repositories.drop(
        release.namespace, release.name.lower(), manifests=own - stay, blob="" if is_shared else release.digest
    )
