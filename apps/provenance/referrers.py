"""Manifests that lead OCI clients to statements and attestations about a release: fixed bytes, made again for each
request.

`oras discover`, `cosign` and `gh attestation verify` ask for the referrers of a manifest and fetch those of a type that
they know. A row names each manifest, so that its digest is found again; a golden file guards the bytes, since people
pin digests. Callers of the reading functions bring the releases that the viewer may fetch.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Lower

from apps.artifacts.models import Manifest
from apps.audit import generation
from apps.lib.addresses import canonical
from apps.lib.formats.oci_manifests import IMAGE_INDEX, IMAGE_MANIFEST, Subject, attached_manifest, digest_of
from apps.modules import package_manifest
from apps.modules.models import ModuleVersion
from apps.provenance import predicates
from apps.provenance.attestation_format import MEDIA_TYPES
from apps.provenance.models import Attestation, Form, Referrer, Statement
from apps.providers.drafting import package_manifests
from apps.providers.models import Package, ProviderVersion
from apps.releases.models import Kind, Release, ReleaseQuerySet

# As BuildKit, cosign and GitHub call them.
PREDICATE_TYPE = "in-toto.io/predicate-type"
BUNDLE_CONTENT, BUNDLE_PREDICATE = "dev.sigstore.bundle.content", "dev.sigstore.bundle.predicateType"
# Whether Larder or a publisher says it.
SAID_BY = "larder.said-by"
_ENDINGS = {Form.DSSE: "dsse.json", Form.BUNDLE: "sigstore.json"}


@dataclass(frozen=True, slots=True)
class _Place:
    """A manifest of a release. `digests`: what it leads to; None where that is everything."""

    subject: Subject
    digests: frozenset[str] | None = None

    def is_named_by(self, attestation: Attestation) -> bool:
        return self.digests is None or not self.digests.isdisjoint(attestation.subjects)


def keep(of: Statement | Attestation) -> None:
    """Save a new one, with a row for each manifest of its release that it is about, in the caller's transaction."""
    release = of.release
    places = [one for one in _places(release) if isinstance(of, Statement) or one.is_named_by(of)]
    made = [(place.subject, _written(of, place.subject)) for place in places]
    # What OCI clients find first, at what the release's tag leads to.
    of.manifest_digest = digest_of(made[0][1]) if made else ""
    of.save(force_insert=True)
    Referrer.objects.bulk_create(
        Referrer(
            release=release,
            subject=subject.digest,
            subject_type=subject.media_type,
            subject_size=subject.size,
            artifact_type=MEDIA_TYPES[_form_of(of)],
            digest=digest_of(document),
            size=len(document),
            **({"statement": of} if isinstance(of, Statement) else {"attestation": of}),
        )
        for subject, document in made
    )
    # Lists that were answered before hold no longer; that a statement is signed changes nothing else that clients read.
    generation.touch({canonical(release.namespace.name)}, subject=str(release))


def attached_to(releases: ReleaseQuerySet, subject: str, *, artifact_type: str = "") -> QuerySet[Referrer]:
    rows = _of(releases).filter(subject=subject)
    return rows.filter(artifact_type=artifact_type) if artifact_type else rows


def with_digest(releases: ReleaseQuerySet, digest: str) -> Referrer | None:
    return _of(releases).filter(digest=digest).order_by("pk").first()


def needs(column: str) -> Q:
    """For rows in a repository: `column` has the digest of a manifest that is made there."""
    rows = Referrer.objects.alias(path=Lower("release__name")).filter(
        digest=OuterRef(column),
        release__kind=Kind.MODULE,
        release__namespace=OuterRef("repository__namespace"),
        path=OuterRef("repository__path"),
    )
    return Q(Exists(rows))


def has_any(releases: ReleaseQuerySet) -> bool:
    """Return whether a manifest is made that names the empty config."""
    return _of(releases).exists()


def raw(row: Referrer) -> bytes:
    return _written(_said_in(row), Subject(row.subject_type, row.subject, row.subject_size))


def descriptor(row: Referrer) -> dict[str, Any]:
    """The entry in a list of referrers."""
    return {
        "mediaType": IMAGE_MANIFEST,
        "digest": row.digest,
        "size": row.size,
        "artifactType": row.artifact_type,
        "annotations": dict(sorted(_annotations(_said_in(row)).items())),
    }


def file_name(of: Statement | Attestation) -> str:
    """Return the name under which a browser saves it."""
    stem = "statement" if isinstance(of, Statement) else of.digest[:12]
    return f"{stem}.{_ENDINGS[_form_of(of)]}"


def document(releases: ReleaseQuerySet, sha256: str) -> bytes | None:
    """Return the statement or the attestation with these bytes."""
    for rows, column in ((Statement.objects, "envelope"), (Attestation.objects, "content")):
        found = rows.filter(digest=sha256, release__in=releases.values("pk"))
        content = found.order_by("pk").values_list(column, flat=True).first()
        if content is not None:
            return bytes(content)
    return None


def _of(releases: ReleaseQuerySet) -> QuerySet[Referrer]:
    rows = Referrer.objects.filter(release__in=releases.values("pk"))
    return rows.select_related("statement", "attestation").defer("statement__envelope", "attestation__content")


def _said_in(row: Referrer) -> Statement | Attestation:
    found = row.statement or row.attestation
    assert found is not None, row  # noqa: S101  # by a constraint
    return found


def _form_of(of: Statement | Attestation) -> Form:
    return Form.DSSE if isinstance(of, Statement) else Form(of.form)


def _written(of: Statement | Attestation, subject: Subject) -> bytes:
    return attached_manifest(
        MEDIA_TYPES[_form_of(of)],
        sha256=of.digest,
        size=of.size,
        file_name=file_name(of),
        subject=subject,
        annotations=_annotations(of),
    )


def _annotations(of: Statement | Attestation) -> Mapping[str, str]:
    if isinstance(of, Statement):
        return {PREDICATE_TYPE: predicates.PREDICATE_TYPE, SAID_BY: "registry"}
    said = {SAID_BY: "publisher"}
    if of.form == Form.DSSE:
        return {PREDICATE_TYPE: of.predicate_type, **said}
    if not of.predicate_type:
        return {BUNDLE_CONTENT: "message-signature", **said}
    return {BUNDLE_CONTENT: "dsse-envelope", BUNDLE_PREDICATE: of.predicate_type, **said}


def _places(release: Release) -> Iterator[_Place]:
    """The manifests by which a release is served; the first is what its tag leads to."""
    if release.kind == Kind.MODULE:
        subject = _of_module(release)
        if subject is not None:
            yield _Place(subject)
        return
    packages = list(Package.objects.filter(version__release=release).order_by("os", "arch", "pk"))
    index = package_manifests.version_index(release, packages)
    known = ProviderVersion.objects.values_list("index_digest", flat=True).get(release=release)
    yield _Place(Subject(IMAGE_INDEX, known or digest_of(index), len(index)))
    for package in packages:
        one = package_manifests.package_manifest(package, release)
        digest = package.manifest_digest or digest_of(one)
        yield _Place(
            Subject(IMAGE_MANIFEST, digest, len(one)), frozenset((package.digest, digest.removeprefix("sha256:")))
        )


def _of_module(release: Release) -> Subject | None:
    """None if the pushed manifest is missing: then OCI clients do not find the release either."""
    generated = package_manifest.synthesised(release)
    known = ModuleVersion.objects.values_list("manifest_digest", flat=True).get(release=release)
    if known in ("", digest_of(generated)):
        return Subject(IMAGE_MANIFEST, digest_of(generated), len(generated))
    here = {"repository__namespace": release.namespace, "repository__path": release.name.lower()}
    pushed = Manifest.objects.values("media_type", "size").filter(**here, digest=known).first()
    return Subject(pushed["media_type"], known, pushed["size"]) if pushed else None
