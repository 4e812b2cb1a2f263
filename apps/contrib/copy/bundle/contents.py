"""The contents of a bundle: an OCI image layout, whose root is an artifact with every other file as a layer.

https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md. The root is a manifest and no index: skopeo
copies no index of indexes, which those of providers are. Beside it `index.json` names each version, for registries
from which OpenTofu installs. In parts, each part is such a layout with the same `index.json` and a share of the blobs:
copied into one folder they are the whole.

Plain Python: a bundle is verified without a registry.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Self

from apps.contrib.copy.tree.layout import Address
from apps.lib.errors import Invalid
from apps.lib.formats.oci_manifests import EMPTY, IMAGE_INDEX, IMAGE_MANIFEST, digest_of

# Types of artifacts. The payload that is signed names the root, and the registry that made it.
BUNDLE = "application/vnd.larder.bundle.v1"
CATALOGUE = "application/vnd.larder.bundle.catalogue.v1+json"
TREE = "application/vnd.larder.static-tree.v1.tar"
BYTES = "application/octet-stream"
SUMS, SIGNATURE = "application/vnd.larder.provider.sums.v1", "application/vnd.larder.provider.signature.v1"
DOCS = "application/vnd.larder.provider.docs.v1"
# What a mirrored provider was verified by, beside sums and signature.
RECORD = "application/vnd.larder.provider.record.v1+json"
SIGNED, SIGNED_BY = "application/vnd.larder.bundle.v1+json", "application/vnd.larder.bundle.signature.v1+json"
# The name of an entry of index.json, by which `oras` and `skopeo` find it.
NAME = "org.opencontainers.image.ref.name"
ROOT_NAME, SIGNATURE_NAME = "bundle", "bundle.sig"
LAYOUT_FILE, LAYOUT = "oci-layout", b'{"imageLayoutVersion":"1.0.0"}'
INDEX_FILE = "index.json"

QUARANTINED, PURGED = "quarantined", "purged"
WITHDRAWN = frozenset({QUARANTINED, PURGED})
STATES = frozenset({"", "deprecated", "yanked", *WITHDRAWN})
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+~-]{0,254}")
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,128}")


class BadBundle(Invalid):
    """The bundle is damaged, incomplete, forged or not for this registry."""

    code = "bad_bundle"


@dataclass(frozen=True, slots=True)
class Item:
    """One version, `kind` and `address` as in the static tree. `digest` (64 hex digits) is what never changes: of a
    module its archive, of a provider the sums of its packages. `files` are what the registry serves, by name, as
    `sha256:…`; none of a version that was withdrawn.

    `state` is empty for a maintained version, else one of STATES, with why and what to use instead.
    """

    kind: str
    address: str
    version: str
    digest: str
    manifest: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    referrers: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    state: str = ""
    reason: str = ""
    replacement: str = ""
    licence: str = ""

    def __str__(self) -> str:
        return f"{self.address} {self.version}"

    @property
    def namespace(self) -> str:
        return self.address.partition("/")[0]

    @property
    def name(self) -> str:
        """Its repository and tag on a plain registry."""
        return f"{self.address.lower()}:{self.version.replace('+', '_')}"

    @property
    def place(self) -> Address:
        """Its address in the static tree. Raises ValueError."""
        return Address.parse(f"{self.kind}/{self.address}")


@dataclass(frozen=True)
class Catalogue:
    """Everything that was chosen, also what an earlier bundle has brought: the state of the far side afterwards.

    `parts` says of each part which blobs it has, with their sizes in bytes. What every part has is not among them.
    `namespaces` has the visibility and the public keys of each.
    """

    registry: str
    made_at: str  # ISO 8601, UTC
    since: str = ""
    tree: str = ""  # the digest of the documents
    namespaces: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    items: tuple[Item, ...] = ()
    parts: tuple[Mapping[str, int], ...] = ()

    def as_bytes(self) -> bytes:
        return canonical(asdict(self))

    @cached_property
    def blobs(self) -> dict[str, int]:
        """The size of each blob by its digest."""
        return {digest: size for part in self.parts for digest, size in part.items()}

    @property
    def digests(self) -> set[str]:
        """Every blob that the far side has after this bundle."""
        named = {digest for one in self.items for digest in (one.manifest, *one.files.values(), *one.referrers)}
        return named | self.blobs.keys()

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        """Raises BadBundle for what is no catalogue of this version, or names something twice or outside its folder."""
        try:
            found = json.loads(raw)
            items = tuple(
                Item(**one | {"referrers": tuple(one["referrers"]), "protocols": tuple(one["protocols"])})
                for one in found["items"]
            )
            made = cls(**found | {"items": items, "parts": tuple(found["parts"])})
            for one in items:
                _check(one)
            _once([(one.kind, one.address.lower(), one.version) for one in items], "version")
            _once([digest for part in made.parts for digest in part], "blob")
            if wrong := next((one for one in made.digests if one and not is_digest(one)), None):
                raise BadBundle(f"Found the digest {wrong[:100]!r}, expected sha256:<64 hex digits>.")
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise BadBundle(
                f"The catalogue of the bundle cannot be read: {str(problem)[:200]}.",
                hint="Import it with a Larder that is as new as the one that made it.",
            ) from None
        return made


def _check(item: Item) -> None:
    if item.state not in STATES:
        raise BadBundle(f"{item.kind} {item}: found the state {item.state!r}, expected one of {sorted(STATES)}.")
    _ = item.place
    names = [*item.files, *([] if _VERSION.fullmatch(item.version) else [item.version])]
    if wrong := next((one for one in names if not _FILE_NAME.fullmatch(one)), None):
        raise BadBundle(
            f"{item} has the file name {wrong[:100]!r}, which leaves its folder: expected letters, digits and ._+~-.",
            hint="Ask who made the bundle.",
        )


def _once(names: list[Any], what: str) -> None:
    if len(set(names)) != len(names):
        twice = next(one for one in names if names.count(one) > 1)
        raise BadBundle(
            f"The bundle names the {what} {' '.join(twice) if isinstance(twice, tuple) else twice} twice: one entry "
            "would overwrite the other.",
            hint="Ask for another bundle.",
        )


def is_digest(text: object) -> bool:
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def canonical(document: Any) -> bytes:
    """The same document always has the same bytes."""
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def descriptor(raw: bytes, *, artifact_type: str, media_type: str = IMAGE_MANIFEST, name: str = "") -> dict[str, Any]:
    """The entry of an index for a manifest or an index."""
    found = {"mediaType": media_type, "digest": digest_of(raw), "size": len(raw), "artifactType": artifact_type}
    return found | ({"annotations": {NAME: name}} if name else {})


def index(entries: Sequence[dict[str, Any]]) -> bytes:
    """Return index.json. Raises BadBundle for two entries of one name."""
    _once(_names(entries), "entry")
    return canonical({"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": entries})


def root(catalogue: Catalogue) -> bytes:
    """The manifest whose digest is that of the bundle."""
    raw = catalogue.as_bytes()
    first = {"mediaType": CATALOGUE, "digest": digest_of(raw), "size": len(raw)}
    layers = [
        {"mediaType": TREE if digest == catalogue.tree else BYTES, "digest": digest, "size": size}
        for digest, size in sorted(catalogue.blobs.items())
    ]
    manifest = {"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "artifactType": BUNDLE, "config": EMPTY}
    return canonical(manifest | {"layers": [first, *layers]})


def _names(entries: Sequence[dict[str, Any]]) -> list[str]:
    return [name for one in entries if (name := (one.get("annotations") or {}).get(NAME))]


def names_in(raw: bytes, what: str) -> list[dict[str, Any]]:
    """The entries of an index. Raises BadBundle."""
    try:
        entries = json.loads(raw)["manifests"]
        _once(_names(entries), "entry")
        if not all(is_digest(one["digest"]) for one in entries):
            raise BadBundle(f"{what} names a blob by something else than sha256:<64 hex digits>.")
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        why = f"an entry has no {problem}" if isinstance(problem, KeyError) else str(problem)[:200]
        raise BadBundle(f"{what} is not an image index: {why}.", hint="Copy the bundle again.") from None
    return list(entries)
