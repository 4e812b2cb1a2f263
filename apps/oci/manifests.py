"""Manifests: taking them in byte for byte, finding them by tag and digest, deleting them (oci.md 1.1, 7.5, 7.6)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from apps.accounts.access.prepared import Prepared
from apps.audit import kinds
from apps.audit.recorder import record
from apps.lib.formats.oci_manifests import MODULE_PACKAGE
from apps.modules.models import ModuleVersion
from apps.oci import edges, keeping, manifest_documents, packages, references, repositories
from apps.oci.authentication import Caller
from apps.oci.errors import DigestInvalid, ManifestInvalid, ManifestUnknown, TooManyTags, Unsupported
from apps.oci.manifest_documents import Document
from apps.oci.models import Manifest, Repository, Tag
from apps.oci.references import Digest
from apps.oci.repositories import Found
from apps.oci.served import Served
from apps.releases.models import Kind, Release

MOST_TAGS = 100


@dataclass(frozen=True, slots=True)
class Put:
    """What a push left behind. `subject` is empty where it names none; `warning` is a sentence for people, or empty."""

    digest: Digest
    subject: str
    tags: tuple[str, ...]
    warning: str = ""


def put(
    caller: Caller,
    repository: Repository,
    reference: str | Digest,
    *,
    raw: bytes,
    content_type: str,
    tags: Sequence[str] = (),
) -> Put:
    """Stores the bytes, with the tags. A tag that is a version publishes it, before this returns (packages.publish).

    Raises ManifestInvalid, DigestInvalid, ManifestBlobUnknown, TooManyTags, QuotaFull, VersionTaken.
    """
    document = manifest_documents.parse(raw, content_type)
    digest = _digest_of(repository, reference, raw)
    names = tuple(dict.fromkeys([*([] if isinstance(reference, Digest) else [reference]), *tags]))
    versions = [name for name in names if repository.is_module and references.is_release_tag(name)]
    others = [name for name in names if name not in versions]
    _check_tags(names)
    _check_versions(versions, document)
    edges.claim(caller, repository, document)
    is_package = repository.is_module and document.is_module_package
    if versions or (packages.LATEST in others and is_package):
        _publish(caller, repository, _store(caller, repository, digest, raw, document), versions, others)
    else:
        _store(caller, repository, digest, raw, document, tags=others)
    return Put(digest, document.subject, names, _warning(repository, document, others))


def read(found: Found, reference: str, *, bytes_wanted: bool = True) -> Served:
    """By tag or digest: what a release answers first, else the rows. Raises ManifestUnknown, DigestInvalid."""
    if ":" in reference:
        digest = str(Digest.parse(reference))
        served = packages.served_by_digest(found, digest) if found.is_module else None
        column = "digest"
    else:
        is_theirs = found.is_module and (references.is_release_tag(reference) or reference == packages.LATEST)
        served = packages.served_by_tag(found, reference) if is_theirs else None
        column = "tags__name" if references.is_tag(reference) else ""
    if served is None and column:
        served = _of_row(found, _ROW[column, bytes_wanted], reference)
    if served is None:
        raise unknown(found, reference) if found.is_there else repositories.unknown(found.address)
    return served


def delete(caller: Caller, found: Found, reference: str) -> None:
    """A tag goes alone; by digest the manifest goes, and every tag on it. Raises ManifestUnknown, Unsupported."""
    if ":" in reference:
        _delete_manifest(caller, found, Digest.parse(reference))
    else:
        _delete_tag(caller, found, reference)


def is_of_release(found: Found, digest: str) -> bool:
    """Whether some version is served by it, be it yanked or in quarantine, or will be once it is published."""
    releases = Release.objects.filter(kind=Kind.MODULE, namespace=found.namespace, name=found.registered.path_name)
    served = ModuleVersion.objects.filter(release__in=releases, manifest_digest=digest)
    return served.exists() or releases.live().filter(provenance__manifest=digest).exists()


def _digest_of(repository: Repository, reference: str | Digest, raw: bytes) -> Digest:
    if isinstance(reference, Digest):
        digest = Digest.of(raw, reference.algorithm)
        if digest != reference:
            raise DigestInvalid(f"The body is {digest}, but it was sent as {reference}.", mend="Send it again.")
        return digest
    known = Manifest.objects.filter(repository=repository)
    usual, other = Digest.of(raw), Digest.of(raw, "sha512")
    # What was pushed by its sha512 alone is tagged by it as well: its client compares digests.
    there = set(known.filter(digest__in=[str(usual), str(other)]).values_list("digest", flat=True))
    return other if there == {str(other)} else usual


def _check_tags(names: Sequence[str]) -> None:
    if len(names) > MOST_TAGS:
        raise TooManyTags(f"{len(names)} tags came with one manifest: expected at most {MOST_TAGS}.")
    for name in names:
        if not references.is_tag(name):
            raise ManifestInvalid(
                f"{name[:200]!r} is no tag: expected at most 128 letters, digits, dots, dashes and underscores."
            )


def _check_versions(versions: Sequence[str], document: Document) -> None:
    """One at most: each is checked and published by itself, and of two the first would stay where the second fails."""
    if len(versions) > 1:
        raise ManifestInvalid(
            f"The tags {versions[0]} and {versions[1]} are both versions: one push publishes one.",
            mend="Push the manifest once for each version.",
        )
    if versions and not document.is_module_package:
        what = document.artifact_type or document.media_type
        raise ManifestInvalid(
            f"The tag {versions[0]} is a version, which only a module package may have: an image manifest with the "
            f"artifactType {MODULE_PACKAGE} and one zip. This is {what}.",
            mend="Use another tag, or attach it to the version by its subject.",
        )


def _store(
    caller: Caller, repository: Repository, digest: Digest, raw: bytes, document: Document, *, tags: Sequence[str] = ()
) -> Manifest:
    now = timezone.now()
    with transaction.atomic():
        _lock(repository)
        manifest = Manifest.objects.defer("raw", "annotations").filter(repository=repository, digest=digest).first()
        if manifest is None:
            # Before the blobs are locked: whoever brings one locks the namespace first, too.
            keeping.check_quota(repository, len(raw))
        held = edges.blobs_of(repository, document)
        edges.check_children(repository, document)
        if manifest is None:
            manifest = Manifest.objects.create(
                repository=repository,
                digest=str(digest),
                media_type=document.media_type,
                artifact_type=document.artifact_type,
                subject=document.subject,
                annotations=document.annotations,
                size=len(raw),
                raw=raw,
                pushed_by=caller.viewer.user,
                seen_at=now,
            )
            edges.draw(manifest, document, held)
        elif manifest.media_type != document.media_type:
            raise ManifestInvalid(
                f"These bytes were pushed as {manifest.media_type} before, and now as {document.media_type}.",
                mend="Write the mediaType into the manifest.",
            )
        else:
            Manifest.objects.filter(pk=manifest.pk).update(seen_at=now)
        moved = _point(caller, repository, manifest, tags)
        _record(caller, repository, kinds.Kind.MANIFEST_PUSHED, digest=str(digest), tags=list(tags), moved=moved)
    manifest.repository, manifest.raw = repository, raw
    return manifest


def _publish(
    caller: Caller, repository: Repository, manifest: Manifest, versions: Iterable[str], others: Sequence[str]
) -> None:
    for version in versions:
        packages.publish(caller, repository, manifest, version)
    if packages.LATEST in others:
        packages.check(repository, manifest)
    if others:
        repositories.authorise_again(caller, repository)  # publishing has waited for a worker
        with transaction.atomic():
            _lock(repository)
            moved = _point(caller, repository, manifest, others)
            _record(caller, repository, kinds.Kind.TAG_MOVED, digest=manifest.digest, tags=list(others), moved=moved)


def _lock(repository: Repository) -> None:
    """One push to a repository at a time, for the length of a transaction. New blobs do not wait for it."""
    Repository.objects.select_for_update(no_key=True).only("pk").get(pk=repository.pk)


def _point(caller: Caller, repository: Repository, manifest: Manifest, tags: Iterable[str]) -> dict[str, str]:
    """Move the tags, or make them; what each of them was before."""
    names = list(tags)
    if not names:
        return {}
    before = Tag.objects.filter(repository=repository, name__in=names).exclude(manifest=manifest)
    moved = dict(before.values_list("name", "manifest__digest"))
    now = timezone.now()
    _lost_a_tag(repository, moved.values())
    Tag.objects.bulk_create(
        [
            Tag(repository=repository, name=name, manifest=manifest, moved_by=caller.viewer.user, moved_at=now)
            for name in names
        ],
        update_conflicts=True,
        unique_fields=["repository", "name"],
        update_fields=["manifest", "moved_by", "moved_at"],
    )
    return moved


def _warning(repository: Repository, document: Document, others: Sequence[str]) -> str:
    """Other artifacts may be called what they like."""
    if document.is_module_package and not repository.is_module:
        return f"{repository} is no module: stored, not published. A module's repository is namespace/name/system."
    loose = [name for name in others if name != packages.LATEST]
    if not (document.is_module_package and loose):
        return ""
    named = ", ".join(loose[:10]) + (" and more" if len(loose) > 10 else "")  # noqa: PLR2004 - a sentence, not a list
    return f"{named}: not a strict semantic version such as 1.2.0, so it is stored, not published."


def _of_row(found: Found, question: Prepared[dict[str, Any]], reference: str) -> Served | None:
    """A row, but where it is the manifest of a release: then the release decides, under whatever tag (D9)."""
    row = question.first(**found.coordinate, path=found.address.path_name, reference=reference)
    if row is None:
        return None
    if row["is_release"]:
        return packages.served_by_digest(found, row["digest"])
    return Served(bytes(row.get("raw", b"")), row["digest"], row["media_type"], size=row["size"])


def _question(column: str, *, bytes_wanted: bool) -> Prepared[dict[str, Any]]:
    """The one row by digest or tag, and what its module's releases have to do with it."""
    columns = ("digest", "media_type", "size", *(["raw"] if bytes_wanted else []))

    def make(namespace: int, canonical: str, name: str, path: str, reference: str) -> Any:
        versions = repositories.versions_of(namespace, canonical, name).filter(manifest_digest=OuterRef("digest"))
        rows = Manifest.objects.filter(repository__namespace=namespace, repository__path=path, **{column: reference})
        return rows.values(*columns, is_release=Exists(versions))

    return Prepared(make, namespace=int, canonical=str, name=str, path=str, reference=str)


_ROW = {
    (column, bytes_wanted): _question(column, bytes_wanted=bytes_wanted)
    for column in ("digest", "tags__name")
    for bytes_wanted in (False, True)
}


def _delete_manifest(caller: Caller, found: Found, digest: Digest) -> None:
    with transaction.atomic():
        if found.row is not None:
            _lock(found.row)
        if is_of_release(found, str(digest)):
            raise Unsupported(f"{digest} is the manifest of a release.", mend=packages.NEVER_DELETED)
        manifest = Manifest.objects.filter(repository=found.row, digest=str(digest)).only("pk").first()
        if found.row is None or manifest is None:
            raise unknown(found, str(digest))
        tags = sorted(manifest.tags.values_list("name", flat=True))
        manifest.delete()
        _record(caller, found.row, kinds.Kind.MANIFEST_DELETED, digest=str(digest), tags=tags)


def _delete_tag(caller: Caller, found: Found, name: str) -> None:
    if not references.is_tag(name):  # nor may a NUL reach the database
        raise unknown(found, name)
    with transaction.atomic():
        tag = Tag.objects.filter(repository=found.row, name=name).values("pk", "manifest__digest").first()
        if found.row is not None and tag is not None:
            Tag.objects.filter(pk=tag["pk"]).delete()
            _lost_a_tag(found.row, [tag["manifest__digest"]])
            _record(caller, found.row, kinds.Kind.TAG_DELETED, digest=tag["manifest__digest"], tags=[name])
            return
    if packages.served_by_tag(found, name) is not None:
        raise Unsupported(f"The tag {name} is a release.", mend=packages.NEVER_DELETED)
    raise unknown(found, name)


def _lost_a_tag(repository: Repository, digests: Iterable[str]) -> None:
    """From now on `collecting` waits as long as after a push: somebody may tag it anew, or still pull it by digest."""
    Manifest.objects.filter(repository=repository, digest__in=list(digests)).update(seen_at=timezone.now())


def _record(caller: Caller, repository: Repository, kind: kinds.Kind, **detail: object) -> None:
    viewer = caller.viewer
    record(kind, actor_id=viewer.user_id, token_id=viewer.token_id, subject=str(repository.address), **detail)


def unknown(found: Found, reference: str) -> ManifestUnknown:
    return ManifestUnknown(f"{found.address} has no manifest {reference[:150]!r}.")
