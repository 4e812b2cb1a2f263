"""Verify a bundle: with the folders, the public keys of its registry, and nothing else.

Nothing of a bundle is used before all of it was verified, in this order: the signature of the root, the root, the
catalogue that it names, every blob that the catalogue names.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any

from apps.contrib.copy.bundle import contents
from apps.contrib.copy.bundle.contents import BadBundle, Catalogue
from apps.contrib.copy.tree import signatures
from apps.contrib.copy.tree.signatures import Keys
from apps.lib.formats.oci_manifests import EMPTY_DIGEST, digest_of

_STEP = 1024 * 1024
# Of documents that are read whole. Far more than a bundle of 500,000 versions needs.
_LARGEST = 1024 * _STEP
_AT_ONCE, _BATCH = 4, 256  # files
_COPY_AGAIN = "Copy that file, or the part, again from where it was written."


@dataclass(frozen=True, slots=True)
class Opened:
    """A bundle whose signature and catalogue are verified. `missing` are the numbers of parts that are not here."""

    folders: tuple[Path, ...]
    root: str
    key_id: str
    catalogue: Catalogue
    missing: tuple[int, ...]

    def open(self, digest: str) -> BufferedReader:
        """Raises BadBundle if it is in no folder."""
        return _open(self.folders, digest)

    def path(self, digest: str) -> Path:
        return next(one for folder in self.folders if (one := _path(folder, digest)).is_file())

    def steps(self, digest: str) -> Iterator[bytes]:
        """Yield the bytes as they are now. The caller hashes them on their way, and compares."""
        with self.open(digest) as file:
            while step := file.read(_STEP):
                yield step

    def whole(self, digest: str) -> bytes:
        """Read a small blob. Raises BadBundle if it has changed since it was verified."""
        return _small(self.folders, digest)


def keys_of(pem: bytes) -> Keys:
    """Read the public keys of registries (GET /api/v1/statement-keys/<id>/pem), several in a row. Raises BadBundle."""
    if not (found := signatures.keys_in(pem)):
        raise BadBundle(
            "Found no Ed25519 public key in the file of keys.",
            hint="Save /api/v1/statement-keys/<id>/pem of the registry that made the bundle.",
        )
    return found


def verify(folders: Sequence[Path], keys: Keys, *, parts_alone: bool = False) -> Opened:
    """Verify signature, root, catalogue and blobs.

    `parts_alone`: the folders may be some of the parts; `missing` says which are not here. Raises BadBundle.
    """
    opened = _opened(tuple(folders), keys)
    if opened.missing and not parts_alone:
        named = ", ".join(map(str, opened.missing))
        raise BadBundle(
            f"Part {named} of {len(opened.catalogue.parts)} is missing.",
            hint="Name the folder of every part; one part alone is verified with --part.",
        )
    parts = [part for number, part in enumerate(opened.catalogue.parts, 1) if number not in opened.missing]
    left = ((opened, *blob) for part in parts for blob in part.items())
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="verifying") as beside:  # hashing releases the GIL
        while some := list(islice(left, _BATCH)):
            for _ in beside.map(_verify_blob, some):
                pass
    return opened


def _verify_blob(blob: tuple[Opened, str, int]) -> None:
    opened, digest, size = blob
    with opened.open(digest) as file:
        found = os.fstat(file.fileno()).st_size
        if found != size:
            raise BadBundle(f"The file of {digest} has {found:,} bytes, expected {size:,}.", hint=_COPY_AGAIN)
        _require(digest, hashlib.file_digest(file, "sha256").hexdigest())


def _opened(folders: tuple[Path, ...], keys: Keys) -> Opened:
    found = {folder: _signed_root(folder, keys) for folder in folders}
    if len(set(found.values())) != 1:
        named = ", ".join(f"{folder} is of {root}" for folder, (root, *_) in found.items())
        raise BadBundle(
            f"These are parts of several bundles: {named}." if found else "No folder was named.",
            hint="Name the parts of one bundle.",
        )
    root, registry, key_id = next(iter(found.values()))
    catalogue = Catalogue.parse(_small(folders, _layer_of(_small(folders, root), contents.CATALOGUE)))
    if catalogue.registry != registry or digest_of(contents.root(catalogue)) != root:
        raise BadBundle("The root of the bundle and its catalogue do not name the same files.", hint="Do not use it.")
    _small(folders, EMPTY_DIGEST)
    names: dict[str, set[str]] = {}
    for one in catalogue.items:  # the same packages in two namespaces have one manifest
        names.setdefault(one.manifest, set()).add(one.name)
    for entry in (entry for folder in folders for entry in _entries(folder)):
        name = (entry.get("annotations") or {}).get(contents.NAME)
        if name and name not in (expected := names.get(entry["digest"], {name})):
            raise BadBundle(
                f"{contents.INDEX_FILE} calls {entry['digest']} {name[:200]}, expected {', '.join(sorted(expected))}.",
                hint=_COPY_AGAIN,
            )
    missing = [
        number
        for number, part in enumerate(catalogue.parts, 1)
        if part and not any(_path(folder, one).is_file() for folder in folders for one in part)
    ]
    return Opened(folders, root, key_id, catalogue, tuple(missing))


def _signed_root(folder: Path, keys: Keys) -> tuple[str, str, str]:
    """Return the digest of the root, its registry, and the key that signed both."""
    if not (folder / contents.INDEX_FILE).is_file() or not (folder / contents.LAYOUT_FILE).is_file():
        raise BadBundle(
            f"{folder} is not a bundle: it lacks {contents.INDEX_FILE} and {contents.LAYOUT_FILE}.",
            hint="Name the folder that bundle create wrote, or an OCI image layout to which a bundle was copied.",
        )
    entries = _entries(folder)
    found = [one["digest"] for one in entries if one.get("artifactType") == contents.SIGNED_BY]
    found = found or [one["digest"] for one in entries if _is_signature(folder, one["digest"])]
    if len(found) != 1:
        raise BadBundle(
            f"{folder} has {len(found)} signatures of bundles, expected one.",
            hint="Copy the bundle with its referrers (oras cp --recursive), or also what is called bundle.sig.",
        )
    envelope = _small((folder,), _layer_of(_small((folder,), found[0]), contents.SIGNED_BY))
    try:
        payload, key_id = signatures.verified(envelope, contents.SIGNED, keys.get)
        signed = json.loads(payload)
        root, registry = signed["root"], signed["registry"]
        if not contents.is_digest(root):
            raise BadBundle(f"The signature of the bundle names {root!r:.100}, expected sha256:<64 hex digits>.")
    except signatures.OtherKey as other:
        raise BadBundle(
            f"The bundle is signed by the key {other}, which is none of yours ({', '.join(one[:16] for one in keys)}).",
            hint="Get the key from the registry that made the bundle, by another way than the bundle.",
        ) from None
    except (ValueError, KeyError, TypeError) as problem:
        raise BadBundle(f"The signature of the bundle {problem}.", hint=f"Do not use it. {_COPY_AGAIN}") from None
    return root, str(registry), key_id


def _entries(folder: Path) -> list[dict[str, Any]]:
    return contents.names_in((folder / contents.INDEX_FILE).read_bytes(), f"{folder}/{contents.INDEX_FILE}")


def _is_signature(folder: Path, digest: str) -> bool:
    """Tools that copy a layout may leave the type of an artifact out of its index."""
    try:
        return bool(json.loads(_small((folder,), digest)).get("artifactType") == contents.SIGNED_BY)
    except (BadBundle, ValueError, AttributeError):
        return False


def _layer_of(manifest: bytes, media_type: str) -> str:
    """Return the digest of the only layer of that type."""
    try:
        (digest,) = [one["digest"] for one in json.loads(manifest)["layers"] if one["mediaType"] == media_type]
    except (ValueError, KeyError, TypeError):
        digest = None
    if not contents.is_digest(digest):
        raise BadBundle(f"Found a manifest without its one layer of {media_type}.", hint=_COPY_AGAIN)
    return str(digest)


def _small(folders: Sequence[Path], digest: str) -> bytes:
    """Read a blob whole, and verify it."""
    with _open(folders, digest) as file:
        raw = file.read(_LARGEST)
    _require(digest, hashlib.sha256(raw).hexdigest())
    return raw


def _require(digest: str, found: str) -> None:
    if digest != f"sha256:{found}":
        raise BadBundle(f"The file of {digest} was changed: it has the digest sha256:{found}.", hint=_COPY_AGAIN)


def _path(folder: Path, digest: str) -> Path:
    return folder / "blobs" / "sha256" / digest.removeprefix("sha256:")


def _open(folders: Sequence[Path], digest: str) -> BufferedReader:
    """Never through a link: it could lead out of the folder."""
    for folder in folders:
        with suppress(OSError):
            descriptor = os.open(_path(folder, digest), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return os.fdopen(descriptor, "rb")
            os.close(descriptor)
    raise BadBundle(f"The bundle has no file of {digest}.", hint=_COPY_AGAIN)
