"""Write a bundle: choose, collect, have the root signed, and lay out the parts."""

import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from apps.blobs import store
from apps.contrib.copy import signing
from apps.contrib.copy.bundle import collecting, contents, selecting, trees
from apps.contrib.copy.bundle.collecting import Collected
from apps.contrib.copy.bundle.contents import NAME, Catalogue, Item, descriptor
from apps.contrib.copy.bundle.models import Bundle
from apps.contrib.copy.bundle.selecting import Selection
from apps.contrib.copy.tree.documents import stored_as
from apps.lib.amounts import amount_text
from apps.lib.errors import Conflict, Invalid, NotFound
from apps.lib.formats.oci_manifests import EMPTY_BYTES, EMPTY_DIGEST, IMAGE_MANIFEST, Subject, digest_of
from apps.releases.models import ReleaseQuerySet
from apps.signing.models import SigningKey, State

# More bytes than a signature, its manifest, both entries of index.json and the names of parts have.
_SIGNATURE = 8192


@dataclass(slots=True)
class Planned:
    """The contents of a bundle before it is written: the sizes of the `blobs` that it does not leave out, by digest,
    and the entries of index.json for what is `new`.
    """

    catalogue: Catalogue
    found: Collected
    new: list[Item]
    entries: list[dict[str, Any]]
    blobs: dict[str, int]


def plan(selection: Selection, *, since: str = "", now: datetime | None = None) -> Planned:
    """Decide what the bundle has, and read no byte of a package.

    `since` is the root of a bundle that the far side has: what that brought is left out. Raises NotFound for a bundle
    that was not made here, and for what the selection names and is not here.
    """
    now = now or timezone.now()
    releases = selecting.chosen(selection)
    found = collecting.collect(releases, selecting.mirrored(selection))
    if not found.items:
        raise NotFound("Nothing was chosen: no version is published there.", hint="Choose other namespaces or dates.")
    before = _catalogue_of(since) if since else None
    known = before.digests if before else set()
    tree = found.add_made(trees.packed(found.items, now=now))
    changed = [
        (item, entries)
        for item, entries in found.entries
        if not known.issuperset({item.manifest, *item.files.values(), *item.referrers})
    ]
    entries = [entry for _, several in changed for entry in several]
    # Tools read every manifest that index.json leads to, so of these none is left out; nor is a file of a new version,
    # which another version may have had.
    needed = {tree, *(digest for entry in entries for digest in found.led_to(entry["digest"]))}
    were = {one.name for one in before.items if one.files} if before else set()
    needed |= {digest for item, _ in changed if item.name not in were for digest in item.files.values()}
    sizes = found.stored | {digest: len(raw) for digest, raw in found.made.items()}
    blobs = {digest: size for digest, size in sizes.items() if digest not in known or digest in needed}
    catalogue = Catalogue(
        registry=settings.PUBLIC_URL,
        made_at=now.isoformat(timespec="microseconds"),
        since=since,
        tree=tree,
        namespaces=_namespaces(releases),
        items=tuple(found.items),
    )
    return Planned(catalogue, found, [item for item, _ in changed], entries, blobs)


def create(folder: Path, selection: Selection, *, since: str = "", part_bytes: int = 0) -> tuple[Bundle, list[Path]]:
    """Write the bundle into a new folder, in parts of at most `part_bytes`; return its row and the folder of each part.

    `index.json` comes last: a folder without it is no bundle. Raises as `plan`, Conflict for a folder that has files,
    Invalid for a blob that is larger than a part, Unavailable without a signing worker, and what storage raises.
    """
    if folder.exists() and any(folder.iterdir()):
        raise Conflict(f"{folder} has files already.", hint="Name a new folder.")
    planned = plan(selection, since=since)
    parts = _parted(planned, part_bytes)
    catalogue = replace(planned.catalogue, parts=tuple(parts))
    # What every part has: so each is verified alone.
    common = Collected(made={EMPTY_DIGEST: EMPTY_BYTES})
    common.add_made(catalogue.as_bytes())
    root = contents.root(catalogue)
    common.add_made(root)
    bundle = _record(digest_of(root), catalogue)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it has what is private
    folders = [folder / f"part-{number:03d}" for number in range(1, len(parts) + 1)] if part_bytes else [folder]
    for place, part in zip(folders, parts, strict=True):
        for blob in part:
            _write_blob(place, blob, _chunks(planned.found, blob))
    envelope = signing.require_signed(bundle)
    common.add_made(envelope)
    subject, file = Subject(IMAGE_MANIFEST, digest_of(root), len(root)), stored_as(envelope)
    signature = common.attach(contents.SIGNED_BY, file, "bundle.dsse.json", subject)
    signature["annotations"] = {NAME: contents.SIGNATURE_NAME}
    first = descriptor(root, artifact_type=contents.BUNDLE, name=contents.ROOT_NAME)
    index = contents.index([first, signature, *planned.entries])
    for place in folders:
        for blob, raw in common.made.items():
            _write_blob(place, blob, [raw])
        (place / contents.LAYOUT_FILE).write_bytes(contents.LAYOUT)
        _write(place / contents.INDEX_FILE, [index])
    Bundle.objects.filter(pk=bundle.pk).update(finished_at=timezone.now())
    return bundle, folders


def _record(root: str, catalogue: Catalogue) -> Bundle:
    return Bundle.objects.create(
        root=root,
        is_own=True,
        registry=catalogue.registry,
        made_at=datetime.fromisoformat(catalogue.made_at),
        payload=contents.canonical({"root": root, "registry": catalogue.registry, "made_at": catalogue.made_at}),
        catalogue=zlib.compress(catalogue.as_bytes()),
    )


def _catalogue_of(root: str) -> Catalogue:
    bundle = Bundle.objects.filter(root=root, is_own=True, finished_at__isnull=False).first()
    if bundle is None:
        raise NotFound(
            f"No bundle {root[:80]} was made here.",
            hint="Name the root of the newest bundle that the far side imported; or make a whole one, without --since.",
        )
    return Catalogue.parse(zlib.decompress(bundle.catalogue))


def _namespaces(releases: ReleaseQuerySet) -> dict[str, dict[str, Any]]:
    """Return the visibility of each namespace, and the keys with which its releases verify."""
    found = {one.namespace_id: one.namespace for one in releases}
    keys: dict[int, list[dict[str, str]]] = {pk: [] for pk in found}
    for key in SigningKey.objects.filter(namespace__in=found).exclude(state=State.PENDING).order_by("pk"):
        told = {"fingerprint": key.fingerprint, "armor": key.armor, "state": key.state, "reason": key.reason}
        keys[key.namespace_id].append(told)
    return {one.name: {"visibility": one.visibility, "keys": keys[pk]} for pk, one in found.items()}


def _parted(planned: Planned, part_bytes: int) -> list[dict[str, int]]:
    """Fill one part after the other with whole blobs, beside what every part has."""
    whole = replace(planned.catalogue, parts=(planned.blobs,))
    common = len(whole.as_bytes()) + len(contents.root(whole)) + len(contents.index(planned.entries)) + _SIGNATURE
    parts: list[dict[str, int]] = [{}]
    filled = common
    for digest, size in sorted(planned.blobs.items()):
        if part_bytes and common + size > part_bytes:
            raise Invalid(
                f"{digest} has {amount_text(size)}: it does not fit into a part of {amount_text(part_bytes)}, beside "
                f"{amount_text(common)} that every part has.",
                hint="A part has whole files only: choose larger parts.",
            )
        if part_bytes and filled + size > part_bytes:
            parts.append({})
            filled = common
        parts[-1][digest] = size
        filled += size
    return parts


def _chunks(found: Collected, digest: str) -> Iterable[bytes]:
    return [found.made[digest]] if digest in found.made else store.read(digest.removeprefix("sha256:"))


def _write_blob(folder: Path, digest: str, chunks: Iterable[bytes]) -> None:
    """Raises DamagedInStorage instead of writing other bytes than those of the digest."""
    path = folder / "blobs" / "sha256" / digest.removeprefix("sha256:")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        _write(path, chunks)


def _write(path: Path, chunks: Iterable[bytes]) -> None:
    temporary = path.with_name(f"{path.name}.part")
    with temporary.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
