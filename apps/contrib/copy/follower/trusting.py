"""The leader's signed manifest, and what a follower remembers of it: nothing leads it elsewhere, or back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.conf import settings

from apps.contrib.copy.follower import leader
from apps.contrib.copy.tree import layout, signatures
from apps.lib.digests import is_sha256

_key = lru_cache(maxsize=8)(leader.public_key)


class Refused(Exception):
    """This follower may not take what the leader sent. The text is for operators."""


@dataclass(frozen=True, slots=True)
class Manifest:
    sequence: int
    written_at: str
    key_id: str
    shards: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Listed:
    """The files of an address by their places: the SHA-256 and the size of each."""

    is_public: bool
    files: Mapping[str, tuple[str, int]]


def root() -> Path:
    return Path(settings.DATA_DIR) / "followed"


def read_state() -> dict[str, Any]:
    """Return what the last pass found; empty before the first one.

    `sequence`, `written_at`, `key_id`: of the newest manifest. `complete_at`: when the tree last had all of it.
    `missing`: how many addresses are not up to date. `looked_at`, `error`: of the last pass.
    """
    try:
        found = json.loads((root() / "state.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def verified(raw: bytes, state: Mapping[str, Any]) -> Manifest:
    """Return the manifest if the pinned key signed it for this registry, and no newer one was seen. Raises Refused.

    The key of the first manifest is pinned, unless LARDER_FOLLOW_KEY names others.
    """
    pinned = settings.FOLLOW.key_ids or [state[name] for name in ("key_id",) if state.get(name)]

    def trusted(key_id: str) -> Ed25519PublicKey | None:
        return _key(key_id) if is_sha256(key_id) and (not pinned or key_id in pinned) else None

    try:
        payload, key_id = signatures.verified(raw, layout.PAYLOAD_TYPE, trusted)
    except signatures.OtherKey as other:
        raise Refused(
            f"The manifest is signed by the key {other}, expected {pinned[0] if pinned else 'an id of 64 hex digits'}. "
            "If the leader has rotated its key, compare the new one there, and set LARDER_FOLLOW_KEY to it."
        ) from None
    except signatures.NotSigned as found:
        raise Refused(f"{layout.MANIFEST} {found}.") from None
    return _read(payload, key_id, state)


def _read(payload: bytes, key_id: str, state: Mapping[str, Any]) -> Manifest:
    try:
        document = json.loads(payload)
        registry, shards = document["registry"].rstrip("/"), document["shards"]
        manifest = Manifest(int(document["sequence"]), str(document["written_at"]), key_id, shards)
        is_sound = shards.keys() <= set(layout.SHARDS) and all(is_sha256(digest) for digest in shards.values())
    except (ValueError, KeyError, TypeError, AttributeError):
        is_sound = False
    if not is_sound:
        raise Refused(f"{layout.MANIFEST} has a payload that is not the manifest of a static copy.")
    if registry != settings.FOLLOW.url:
        raise Refused(f"The manifest is of {registry}, expected {settings.FOLLOW.url}: LARDER_FOLLOW must name it so.")
    if manifest.sequence < state.get("sequence", 0):
        raise Refused(
            f"The manifest has the number {manifest.sequence}, and {state['sequence']} was seen: it is an older one. "
            "If the leader was restored from a backup, remove the folder `followed` of the data folder."
        )
    return manifest


def addresses_in(shard: bytes) -> dict[layout.Address, str]:
    """Return the digest of the list of each address. Raises ValueError or AttributeError for what is no shard."""
    found = {layout.Address.parse(text): digest for text, digest in json.loads(shard).items()}
    if not all(is_sha256(digest) for digest in found.values()):
        raise ValueError("a digest is none")
    return found


def listed_in(data: bytes) -> Listed:
    """Read the list of an address. Raises ValueError, KeyError or TypeError for what is none."""
    document = json.loads(data)
    files = {}
    for place, one in document["files"].items():
        digest, size = one
        if not layout.is_place(place) or not isinstance(size, int) or size < 0 or not (is_sha256(digest) or not digest):
            raise ValueError(place)
        files[place] = (digest, size)
    return Listed(document["visibility"] == "public", files)
