"""The manifest: a list of files for each address, the lists' digests in 256 shards, and one signed root.

So a change rewrites one list, one shard and the root, however many versions there are. The root is a DSSE envelope by a
statement key of the registry (D27), which anyone can check without Larder.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings

from apps.contrib.copy.tree import layout
from apps.contrib.copy.tree.documents import Stored, as_bytes
from apps.contrib.copy.tree.layout import Address
from apps.releases.catalogue.reading import moment_text

PAYLOAD_TYPE = layout.PAYLOAD_TYPE
# The digest of a shard without an address.
EMPTY = ""


def list_document(address: Address, files: Mapping[str, Stored], *, is_public: bool) -> bytes:
    """`{"address", "visibility": "public" | "private", "files": {place: [sha256, size]}}`: all files of an address."""
    return as_bytes(
        {
            "address": str(address),
            "visibility": layout.side(is_public=is_public),
            "files": {place: [stored.digest, stored.size] for place, stored in files.items()},
        }
    )


def shard_document(digests: Mapping[str, str]) -> bytes:
    """`{address: sha256 of its list}`."""
    return as_bytes(dict(digests))


def root_document(sequence: int, generation: int, shards: Mapping[str, str], *, now: datetime) -> bytes:
    """The payload of the root. `shards`: the SHA-256 of each shard that has an address.

    `sequence` only grows: a copy with a lower one is older. `generation`: all changes up to this one are in it.
    """
    document: dict[str, Any] = {
        "registry": settings.PUBLIC_URL,
        "sequence": sequence,
        "generation": generation,
        "written_at": moment_text(now),
        "shards": {shard: digest for shard, digest in shards.items() if digest != EMPTY},
    }
    return as_bytes(document)


def shards_of(payload: bytes) -> dict[str, str]:
    """The shards of a root that Larder has made; none for an empty payload."""
    found: dict[str, str] = json.loads(payload)["shards"] if payload else {}
    return found
