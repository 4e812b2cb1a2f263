"""Image manifests and indexes of the OCI image specification as fixed bytes: equal input, equal digest.

https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md. The order of keys is fixed and there is no
timestamp, so that a manifest can be built again on each request.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

IMAGE_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
IMAGE_INDEX = "application/vnd.oci.image.index.v1+json"
MODULE_PACKAGE = "application/vnd.opentofu.modulepkg"
PROVIDER = "application/vnd.opentofu.provider"
PROVIDER_TARGET = "application/vnd.opentofu.provider-target"
ZIP = "archive/zip"
TITLE, VERSION = "org.opencontainers.image.title", "org.opencontainers.image.version"

# The empty descriptor of the image specification, with inline data: clients need not fetch it.
EMPTY_BYTES = b"{}"
EMPTY_DIGEST = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
EMPTY = {
    "mediaType": "application/vnd.oci.empty.v1+json",
    "digest": EMPTY_DIGEST,
    "size": len(EMPTY_BYTES),
    "data": "e30=",
}


@dataclass(frozen=True, slots=True)
class Target:
    """A platform's manifest, as an index lists it."""

    raw: bytes
    os: str
    architecture: str


@dataclass(frozen=True, slots=True)
class Subject:
    """The manifest that another one is attached to."""

    media_type: str
    digest: str
    size: int


def zip_manifest(
    artifact_type: str, *, sha256: str, size: int, file_name: str, annotations: Mapping[str, str]
) -> bytes:
    """An empty config and one zip. `file_name` is the zip's name on the puller's disk."""
    layer = {"mediaType": ZIP, "digest": f"sha256:{sha256}", "size": size, "annotations": {TITLE: file_name}}
    return _one_layer(artifact_type, layer, annotations)


def attached_manifest(
    artifact_type: str, *, sha256: str, size: int, file_name: str, subject: Subject, annotations: Mapping[str, str]
) -> bytes:
    """An empty config and one document of that type, attached to a manifest."""
    layer = {"mediaType": artifact_type, "digest": f"sha256:{sha256}", "size": size, "annotations": {TITLE: file_name}}
    about = {"mediaType": subject.media_type, "digest": subject.digest, "size": subject.size}
    return _one_layer(artifact_type, layer, annotations, subject=about)


def _one_layer(
    artifact_type: str, layer: Mapping[str, Any], annotations: Mapping[str, str], **subject: Mapping[str, Any]
) -> bytes:
    return _written(
        {
            "schemaVersion": 2,
            "mediaType": IMAGE_MANIFEST,
            "artifactType": artifact_type,
            "config": EMPTY,
            "layers": [layer],
            **subject,
            "annotations": dict(annotations),
        }
    )


def index(artifact_type: str, targets: Iterable[Target], *, target_type: str, annotations: Mapping[str, str]) -> bytes:
    """The manifests of several platforms, in the given order."""
    listed = [
        {
            "mediaType": IMAGE_MANIFEST,
            "digest": digest_of(one.raw),
            "size": len(one.raw),
            "artifactType": target_type,
            "platform": {"os": one.os, "architecture": one.architecture},
        }
        for one in targets
    ]
    return _written(
        {
            "schemaVersion": 2,
            "mediaType": IMAGE_INDEX,
            "artifactType": artifact_type,
            "manifests": listed,
            "annotations": dict(annotations),
        }
    )


def digest_of(raw: bytes) -> str:
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def _written(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
