"""Rows of manifests and tags: stored byte for byte, pointed at, deleted. Each verb writes its audit row."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.artifacts import manifest_references, names, uploads
from apps.artifacts.errors import DigestInvalid, ManifestInvalid, ManifestUnknown, TooManyTags
from apps.artifacts.manifest_format import ParsedManifest
from apps.artifacts.models import Manifest, Repository, Tag
from apps.artifacts.names import Digest
from apps.artifacts.repositories import locked
from apps.artifacts.uploads import RequireRoom
from apps.audit import kinds

MAX_TAGS = 100


@dataclass(frozen=True, slots=True)
class Pushed:
    """A manifest as it comes in. `digest` is the one by which it is addressed; `tags` move with it.

    What it names, and releases serve in the repository without a row: `readable` has the sha256 of blobs, by the digest
    that the manifest says, and `inline` the bytes of those that are not in storage; `sizes` those of manifests.
    """

    digest: Digest
    raw: bytes
    parsed: ParsedManifest
    tags: Sequence[str]
    readable: Mapping[Digest, str]
    sizes: Mapping[Digest, int | None]
    inline: Mapping[Digest, bytes] = field(default_factory=dict)


def digest_of(repository: Repository, reference: str | Digest, raw: bytes) -> Digest:
    """Return the digest under which to store bytes that were sent to a tag or a digest. Raises DigestInvalid."""
    if isinstance(reference, Digest):
        digest = Digest.of(raw, reference.algorithm)
        if digest != reference:
            raise DigestInvalid(
                f"The body has the digest {digest}, but it was sent as {reference}.", hint="Send it again."
            )
        return digest
    known = Manifest.objects.filter(repository=repository)
    usual, other = Digest.of(raw), Digest.of(raw, "sha512")
    # What was pushed by its sha512 alone is tagged by it as well: its client compares digests.
    there = set(known.filter(digest__in=[str(usual), str(other)]).values_list("digest", flat=True))
    return other if there == {str(other)} else usual


def check_tags(tags: Sequence[str]) -> None:
    """Raises TooManyTags, ManifestInvalid."""
    if len(tags) > MAX_TAGS:
        raise TooManyTags(f"{len(tags)} tags were sent with one manifest: expected at most {MAX_TAGS}.")
    for tag in tags:
        if not names.is_tag(tag):
            raise ManifestInvalid(
                f"{tag[:200]!r} is not a tag: expected at most 128 letters, digits, dots, dashes and underscores."
            )


def store(
    viewer: Viewer,
    repository: Repository,
    pushed: Pushed,
    *,
    require_room: RequireRoom,
    also: Callable[[Manifest], None] = lambda _: None,
) -> None:
    """Store the manifest unless it is there already, and move the tags to it. Not inside a transaction.

    `also` is what a room above records in the same transaction. Raises ManifestBlobUnknown, ManifestInvalid, and what
    `require_room` and `also` raise.
    """
    for digest, content in pushed.inline.items():
        uploads.whole(repository, digest, [content], require_room=require_room)
    for sha256 in pushed.readable.values():
        uploads.mount(repository, sha256, require_room=require_room)
    parsed, now = pushed.parsed, timezone.now()
    with locked(repository.pk):
        rows = Manifest.objects.defer("raw", "annotations").filter(repository=repository)
        manifest = rows.filter(digest=str(pushed.digest)).first()
        if manifest is None:
            # Before the blobs are locked: a push of a blob also locks the namespace first.
            require_room(repository.namespace, len(pushed.raw))
        blobs = manifest_references.blobs_of(repository, parsed)
        manifest_references.check_children(repository, parsed, pushed.sizes)
        if manifest is None:
            manifest = Manifest.objects.create(
                repository=repository,
                digest=str(pushed.digest),
                media_type=parsed.media_type,
                artifact_type=parsed.artifact_type,
                subject=parsed.subject,
                annotations=parsed.annotations,
                size=len(pushed.raw),
                raw=pushed.raw,
                pushed_by=viewer.user,
            )
            manifest_references.create(manifest, parsed, blobs)
        elif manifest.media_type != parsed.media_type:
            raise ManifestInvalid(
                f"These bytes were pushed as {manifest.media_type} before, but now as {parsed.media_type}.",
                hint="Write the mediaType into the manifest.",
            )
        else:
            Manifest.objects.filter(pk=manifest.pk).update(seen_at=now)
        moved = _point(viewer, repository, manifest, pushed.tags)
        tags = list(pushed.tags)
        also(manifest)
        _record(viewer, repository, kinds.Kind.MANIFEST_PUSHED, digest=str(pushed.digest), tags=tags, moved=moved)


def move_tags(viewer: Viewer, repository: Repository, manifest: Manifest, tags: Sequence[str]) -> None:
    with locked(repository.pk):
        moved = _point(viewer, repository, manifest, tags)
        _record(viewer, repository, kinds.Kind.TAG_MOVED, digest=manifest.digest, tags=list(tags), moved=moved)


def delete(viewer: Viewer, repository: Repository, digest: str) -> None:
    """Delete it with all its tags. Call inside `repositories.locked`. Raises ManifestUnknown."""
    manifest = Manifest.objects.filter(repository=repository, digest=digest).only("pk").first()
    if manifest is None:
        raise unknown(repository, digest)
    tags = sorted(manifest.tags.values_list("name", flat=True))
    manifest.delete()
    _record(viewer, repository, kinds.Kind.MANIFEST_DELETED, digest=digest, tags=tags)


def delete_tag(viewer: Viewer, repository: Repository, name: str) -> bool:
    """Return False if no row has that name."""
    with locked(repository.pk):
        tag = Tag.objects.filter(repository=repository, name=name).values("pk", "manifest__digest").first()
        if tag is None:
            return False
        Tag.objects.filter(pk=tag["pk"]).delete()
        _lost_a_tag(repository, [tag["manifest__digest"]])
        _record(viewer, repository, kinds.Kind.TAG_DELETED, digest=tag["manifest__digest"], tags=[name])
    return True


def unknown(repository: object, reference: str) -> ManifestUnknown:
    return ManifestUnknown(f"{repository} has no manifest {reference[:150]!r}.")


def _point(viewer: Viewer, repository: Repository, manifest: Manifest, tags: Iterable[str]) -> dict[str, str]:
    """Move the tags, or make them; returns the digest that each of them led to."""
    named = list(tags)
    if not named:
        return {}
    before = Tag.objects.filter(repository=repository, name__in=named).exclude(manifest=manifest)
    moved = dict(before.values_list("name", "manifest__digest"))
    now = timezone.now()
    _lost_a_tag(repository, moved.values())
    Tag.objects.bulk_create(
        [Tag(repository=repository, name=tag, manifest=manifest, moved_by=viewer.user, moved_at=now) for tag in named],
        update_conflicts=True,
        unique_fields=["repository", "name"],
        update_fields=["manifest", "moved_by", "moved_at"],
    )
    return moved


def _lost_a_tag(repository: Repository, digests: Iterable[str]) -> None:
    """Restart the grace time of `gc`: a client may tag it again or still pull it by digest."""
    Manifest.objects.filter(repository=repository, digest__in=list(digests)).update(seen_at=timezone.now())


def _record(viewer: Viewer, repository: Repository, kind: kinds.Kind, **detail: object) -> None:
    viewer.record(kind, subject=str(repository.address), **detail)
