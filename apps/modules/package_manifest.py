"""The OCI manifest that serves a release which was not pushed over OCI: fixed bytes for each release.

It contains only what never changes: no description, no repository URL, no clock. Changing a byte of it changes the
digest that people have pinned; a golden file guards it.

Manifests pushed to module repositories stay beside it: releases need some of them, and a purge removes others.
"""

from django.db.models import Exists, OuterRef, Q, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Lower, Replace

from apps.accounts.models import Namespace
from apps.artifacts import repositories
from apps.lib.formats.oci_manifests import MODULE_PACKAGE, TITLE, VERSION, digest_of, zip_manifest
from apps.modules.catalogue.documents import archive_name
from apps.modules.models import ModuleVersion
from apps.releases.models import WORKING, Kind, Release, State

# Key in Release.provenance: the digest of the manifest that was pushed with the archive.
PUSHED = "manifest"


def synthesised(release: Release) -> bytes:
    assert release.size is not None  # noqa: S101  # a constraint guarantees it for published releases
    return zip_manifest(
        MODULE_PACKAGE,
        sha256=release.digest,
        size=release.size,
        file_name=archive_name(release.name, release.version),
        annotations={TITLE: release.name, VERSION: release.version},
    )


def pushed_with(release: Release) -> str:
    """The digest of the manifest that was pushed with the release; empty if it was not pushed over OCI."""
    return str(release.provenance.get(PUSHED, ""))


def digest_for(release: Release) -> str:
    """The digest of the manifest that serves the release: the pushed one, else the synthesised one."""
    return pushed_with(release) or digest_of(synthesised(release))


def needs(column: str) -> Q:
    """For rows in a repository: a module version is served by the manifest with the digest in `column`, quarantined or
    not, or will be once it is published.
    """
    served = ModuleVersion.objects.filter(
        manifest_digest=OuterRef(column),
        module__namespace=OuterRef("repository__namespace"),
        module__canonical=Replace(OuterRef("repository__path"), Value("_"), Value("-")),
    )
    coming = Release.objects.alias(path=Lower("name"), pushed=KT(f"provenance__{PUSHED}")).filter(
        kind=Kind.MODULE,
        namespace=OuterRef("repository__namespace"),
        state__in=WORKING,
        path=OuterRef("repository__path"),
        pushed=OuterRef(column),
    )
    return Q(Exists(served)) | Q(Exists(coming))


def is_needed(namespace: Namespace, name: str, digest: str) -> bool:
    """Tell, like `needs`, for one manifest in the repository of the module with that name."""
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
    own = {pushed_with(release), digest_of(synthesised(release))}
    served = ModuleVersion.objects.filter(release__in=others, manifest_digest__in=own)
    stay = {*served.values_list("manifest_digest", flat=True), *others.values_list("provenance__manifest", flat=True)}
    is_shared = others.filter(uploaded_digest=release.uploaded_digest).exists()
    repositories.drop(
        release.namespace, release.name.lower(), manifests=own - stay, blob="" if is_shared else release.digest
    )
