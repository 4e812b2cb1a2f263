"""Reads a pushed manifest strictly, since others will read it after us.

https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md and image-index.md
"""

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from apps.artifacts.errors import DigestInvalid, ManifestInvalid
from apps.artifacts.names import Digest
from apps.lib.formats import strict_json
from apps.lib.formats.oci_manifests import IMAGE_INDEX, IMAGE_MANIFEST, MODULE_PACKAGE, TITLE

DOCKER_IMAGE = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
INDEXES = frozenset((IMAGE_INDEX, DOCKER_LIST))
MANIFESTS = frozenset((IMAGE_MANIFEST, IMAGE_INDEX, DOCKER_IMAGE, DOCKER_LIST))

# Not stored in registries: the descriptor's `urls` say where they are.
_NOT_DISTRIBUTED = frozenset(
    (
        "application/vnd.oci.image.layer.nondistributable.v1.tar",
        "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
        "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
        "application/vnd.docker.image.rootfs.foreign.diff.tar",
        "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
    )
)
MEDIA_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}", re.ASCII)
_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # half a surrogate pair is no text, and no database keeps a NUL
_VERSION = 2
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Descriptor:
    """`may_be_away`: it need not be in the repository. `title` is the file name that its sender gave it, or empty."""

    media_type: str
    digest: Digest
    size: int
    may_be_away: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class ParsedManifest:
    """A manifest or an index. `children`: the manifests that an index lists; `blobs`: all else that is named."""

    media_type: str
    artifact_type: str
    subject: str
    annotations: dict[str, str]
    blobs: tuple[Descriptor, ...] = ()
    children: tuple[Descriptor, ...] = ()

    @property
    def is_module_package(self) -> bool:
        return self.media_type == IMAGE_MANIFEST and self.artifact_type == MODULE_PACKAGE


def parse(raw: bytes, content_type: str) -> ParsedManifest:
    """Raises ManifestInvalid, or DigestInvalid for a descriptor's."""
    try:
        fields = strict_json.loads(raw)
    except strict_json.Malformed as error:
        raise ManifestInvalid(f"The manifest {error}.") from None
    if not isinstance(fields, dict):
        raise ManifestInvalid(f"The manifest is {_shown(fields)}, expected a JSON object.")
    media_type = _media_type_of(fields, content_type)
    version = fields.get("schemaVersion")
    if version != _VERSION or not isinstance(version, int):
        raise ManifestInvalid(f"schemaVersion is {_shown(version)}, expected {_VERSION}.")
    subject = "" if fields.get("subject") is None else str(_descriptor(fields["subject"], "subject").digest)
    annotations = _annotations(fields, "the manifest")
    own_type = _optional_media_type(fields, "artifactType")
    if media_type in INDEXES:
        _refuse_both(fields, ("config", "layers", "fsLayers"), "an index")
        listed = _descriptors(fields, "manifests", required=True)
        children = tuple(one for one in listed if one.media_type in MANIFESTS)
        blobs = tuple(one for one in listed if one.media_type not in MANIFESTS)
        return ParsedManifest(media_type, own_type, subject, annotations, blobs, children)
    _refuse_both(fields, ("manifests", "fsLayers"), "an image manifest")
    if "config" not in fields:
        raise ManifestInvalid("The manifest has no config.", hint="Use the empty config `{}` if there is none.")
    config = _descriptor(fields["config"], "config")
    layers = _descriptors(fields, "layers")
    return ParsedManifest(media_type, own_type or config.media_type, subject, annotations, (config, *layers))


def _media_type_of(fields: dict[str, Any], content_type: str) -> str:
    """Return Content-Type without parameters, or else `mediaType`. If both are there, they must agree."""
    sent = content_type.partition(";")[0].strip()
    said = _optional_media_type(fields, "mediaType")
    if sent and said and sent != said:
        raise ManifestInvalid(f"Content-Type is {sent[:200]!r}, but the manifest's mediaType is {said!r}.")
    found = sent or said
    if found not in MANIFESTS:
        raise ManifestInvalid(
            f"{found[:200]!r} is not a media type of manifests here: expected "
            f"{', '.join(sorted(MANIFESTS, reverse=True))}."
        )
    return found


def _refuse_both(fields: dict[str, Any], names: Iterable[str], what: str) -> None:
    """Refuse what one reader takes for a manifest and another for an index (CVE-2021-41190)."""
    for name in names:
        if name in fields:
            raise ManifestInvalid(f"The media type says {what}, but it has {name!r}.")


def _optional_media_type(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return "" if value is None or value == "" else _media_type(value, name)


def _media_type(value: Any, where: str) -> str:
    if not isinstance(value, str) or not MEDIA_TYPE.fullmatch(value):
        raise ManifestInvalid(f"{where} is {_shown(value)}, expected a media type such as {IMAGE_MANIFEST}.")
    return value


def _descriptors(fields: dict[str, Any], name: str, *, required: bool = False) -> list[Descriptor]:
    if required and name not in fields:
        raise ManifestInvalid(f"The manifest has no {name}.", hint="Use an empty array if there are none.")
    listed = fields.get(name)
    if listed is None:  # Go's clients write an empty list as null
        return []
    if not isinstance(listed, list):
        raise ManifestInvalid(f"{name} is {_shown(listed)}, expected an array.")
    return [_descriptor(value, f"{name}[{place}]") for place, value in enumerate(listed)]


def _descriptor(value: Any, where: str) -> Descriptor:
    if not isinstance(value, dict):
        raise ManifestInvalid(f"{where} is {_shown(value)}, expected a descriptor.")
    media_type = _media_type(value.get("mediaType"), f"{where}.mediaType")
    text, size, urls = value.get("digest"), value.get("size"), value.get("urls")
    if not isinstance(text, str):
        raise ManifestInvalid(f"{where}.digest is {_shown(text)}, expected a digest.")
    try:
        digest = Digest.parse(text)
    except DigestInvalid as refusal:
        raise ManifestInvalid(f"{where}.digest: {refusal}") from None
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _LARGEST:
        raise ManifestInvalid(f"{where}.size is {_shown(size)}, expected a number of bytes.")
    if urls is not None and not (isinstance(urls, list) and all(isinstance(url, str) for url in urls)):
        raise ManifestInvalid(f"{where}.urls is {_shown(urls)}, expected an array of text.")
    title = _annotations(value, where).get(TITLE, "")
    if (data := value.get("data")) is not None:
        # Readers may use embedded bytes instead of the blob: both must be the same.
        try:
            content = base64.b64decode(data, validate=True) if isinstance(data, str) else None
        except (binascii.Error, ValueError):
            content = None
        if content is None or len(content) != size or Digest.of(content, digest.algorithm) != digest:
            raise ManifestInvalid(f"{where}.data is not the base64 of the {size} bytes that are {digest}.")
    is_away = bool(urls) or media_type in _NOT_DISTRIBUTED
    return Descriptor(media_type, digest, size, may_be_away=is_away, title=title)


def _annotations(fields: dict[str, Any], where: str) -> dict[str, str]:
    found = fields.get("annotations")
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ManifestInvalid(f"The annotations of {where} are not a map of text to text.")
    for text in (*found, *found.values()):
        if _NO_TEXT.search(text):
            raise ManifestInvalid(f"An annotation of {where} contains characters that are not text.")
    return found


def _shown(value: Any) -> str:
    """Shorten a value for an error message."""
    return "missing" if value is None else repr(value)[:100]
