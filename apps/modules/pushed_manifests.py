"""Manifests pushed to module repositories: which of them releases need, and which a purge removes."""

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
    """For rows in a repository: a module version is served by the manifest with the digest in `column`, quarantined or
    not, or will be once it is published.
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
    """As `needs`, for one manifest in the repository of the module with that name."""
    releases = Release.objects.filter(kind=Kind.MODULE, namespace=namespace, name=name)
    served = ModuleVersion.objects.filter(release__in=releases, manifest_digest=digest)
    return served.exists() or releases.live().filter(provenance__manifest=digest).exists()


def drop(release: Release) -> None:
    """Call in the purging transaction: removes the pushed manifests and zip, a second way to the same bytes.

    Keeps what serves another version of the module, or is about to. Pushing the same package again under another tag is
    a new push.
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
