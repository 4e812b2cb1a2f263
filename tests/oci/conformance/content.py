"""Blobs, manifests and indexes of every kind to push, each with its own bytes."""

import base64
import gzip
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

OCI = "application/vnd.oci"
IMAGE, INDEX = f"{OCI}.image.manifest.v1+json", f"{OCI}.image.index.v1+json"
CONFIG, EMPTY = f"{OCI}.image.config.v1+json", f"{OCI}.empty.v1+json"
TAR, GZIP = f"{OCI}.image.layer.v1.tar", f"{OCI}.image.layer.v1.tar+gzip"
FOREIGN = f"{OCI}.image.layer.nondistributable.v1.tar+gzip"


@dataclass(frozen=True)
class Document:
    """A manifest or index, byte for byte."""

    raw: bytes
    media_type: str
    algorithm: str = "sha256"

    @property
    def digest(self) -> str:
        return f"{self.algorithm}:{hashlib.new(self.algorithm, self.raw).hexdigest()}"

    @property
    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.raw)
        return found

    @property
    def subject(self) -> str:
        return str(self.fields.get("subject", {}).get("digest", ""))

    @property
    def artifact_type(self) -> str:
        """Its own, else its config's: what a list of referrers says."""
        return str(self.fields.get("artifactType") or self.fields.get("config", {}).get("mediaType", ""))

    def descriptor(self, **more: Any) -> dict[str, Any]:
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.raw), **more}

    def as_referrer(self) -> dict[str, Any]:
        found = self.descriptor()
        if self.artifact_type:
            found["artifactType"] = self.artifact_type
        if self.fields.get("annotations"):
            found["annotations"] = self.fields["annotations"]
        return found


@dataclass
class Bundle:
    """A data set: its blobs, its documents in the order in which they may be pushed, and the tags of some."""

    group: str
    algorithm: str = "sha256"
    blobs: dict[str, bytes] = field(default_factory=dict)
    documents: list[Document] = field(default_factory=list)
    tags: dict[str, Document] = field(default_factory=dict)

    def blob(self, raw: bytes, media_type: str, **more: Any) -> dict[str, Any]:
        digest = f"{self.algorithm}:{hashlib.new(self.algorithm, raw).hexdigest()}"
        self.blobs[digest] = raw
        return {"mediaType": media_type, "digest": digest, "size": len(raw), **more}

    def empty(self, **more: Any) -> dict[str, Any]:
        return self.blob(b"{}", EMPTY, **more)

    def config(self, name: str, **more: Any) -> dict[str, Any]:
        text = {"architecture": "amd64", "os": "linux", "author": f"{self.group} {name}", **more}
        return self.blob(json.dumps(text).encode(), CONFIG)

    def layer(self, name: str, media_type: str = GZIP, **more: Any) -> dict[str, Any]:
        raw = f"{self.group} {name}".encode().ljust(600, b".")
        return self.blob(gzip.compress(raw, mtime=0) if media_type == GZIP else raw, media_type, **more)

    def add(self, fields: dict[str, Any], tag: str = "") -> Document:
        whole = {"schemaVersion": 2, **fields}
        document = Document(json.dumps(whole, indent=1).encode(), whole["mediaType"], self.algorithm)
        self.documents.append(document)
        if tag:
            self.tags[tag] = document
        return document

    def image(self, name: str, tag: str = "", **more: Any) -> Document:
        config = more.pop("config", None) or self.config(name)
        layers = more.pop("layers", None)
        if layers is None:
            layers = [self.layer(f"{name} 1"), self.layer(f"{name} 2")]
        return self.add({"mediaType": IMAGE, "config": config, "layers": layers, **more}, tag)

    def artifact(self, name: str, tag: str = "", **more: Any) -> Document:
        kind = {"mediaType": IMAGE, "artifactType": f"application/vnd.example.{name}"}
        layers = more.pop("layers", None) or [self.layer(name, "text/plain")]
        return self.add({**kind, "config": more.pop("config", None) or self.empty(), "layers": layers, **more}, tag)

    def index(self, listed: list[Document], tag: str = "", **more: Any) -> Document:
        rows = [document.descriptor() for document in listed]
        return self.add({"mediaType": INDEX, "manifests": rows} | more, tag)

    def platforms(self, tag: str = "", name: str = "", **more: Any) -> Document:
        return self.index([self.image(f"{name} amd64"), self.image(f"{name} arm64")], tag, **more)


def _image() -> Bundle:
    found = Bundle("image")
    found.image("one", "image")
    return found


def _uncompressed() -> Bundle:
    found = Bundle("image uncompressed")
    found.image("plain", "image", layers=[found.layer("1", TAR), found.layer("2", TAR)])
    return found


def _large() -> Bundle:
    found = Bundle("large manifest")
    found.image("large", "large", annotations={"org.example.filling": "x" * 3_900_000})
    return found


def _index() -> Bundle:
    found = Bundle("index")
    found.platforms("index")
    return found


def _nested() -> Bundle:
    found = Bundle("nested index")
    found.index([found.platforms(name="left"), found.platforms(name="right")], "nested")
    return found


def _empty_index() -> Bundle:
    found = Bundle("empty index")
    found.index([], "index")
    return found


def _artifact() -> Bundle:
    found = Bundle("artifact")
    found.artifact("one", "artifact")
    return found


def _artifact_index() -> Bundle:
    found = Bundle("artifact index")
    listed = [found.artifact("first"), found.artifact("second")]
    found.index(listed, "index", artifactType="application/vnd.example.list")
    return found


def _without_layers() -> Bundle:
    found = Bundle("artifact without layers")
    found.artifact("bare", "artifact", layers=[found.empty()], annotations={"org.example.said": "all in here"})
    return found


def _subject() -> Bundle:
    found = Bundle("artifacts with subject")
    subject = found.image("subject", "image")
    for name in ("signature", "sbom"):
        found.artifact(name, subject=subject.descriptor(), annotations={"org.example.kind": name})
    found.image("plain", "attached", subject=subject.descriptor())  # its type is its config's
    return found


def _index_with_subject() -> Bundle:
    found = Bundle("index with subject")
    subject = found.platforms("index")
    listed = [found.artifact("first"), found.artifact("second")]
    found.index(
        listed,
        "attached",
        artifactType="application/vnd.example.list",
        subject=subject.descriptor(),
        annotations={"org.example.kind": "list"},
    )
    found.index([], subject=subject.descriptor())  # one without any type
    return found


def _missing_subject() -> Bundle:
    found = Bundle("missing subject")
    nowhere = Document(b'{"never": "pushed"}', IMAGE)
    found.artifact("early", "early", subject=nowhere.descriptor())
    return found


def _data_field() -> Bundle:
    found = Bundle("data field")
    data = base64.b64encode(b"{}").decode()
    layer = b"a layer that stands in its descriptor"
    found.artifact(
        "inline",
        "data",
        config=found.empty(data=data),
        layers=[found.blob(layer, "text/plain", data=base64.b64encode(layer).decode())],
    )
    return found


def _no_layers() -> Bundle:
    found = Bundle("no layers")
    found.image("bare", "image", layers=[])
    return found


def _custom_fields() -> Bundle:
    found = Bundle("custom fields")
    more: dict[str, Any] = {"org.example.custom": {"nested": [1, 2.50, None, "é"]}, "zebra": True}
    images = [found.image(name, config=found.config(name, custom=more), **more) for name in ("one", "two")]
    found.index(images, "custom", **more)
    return found


def _foreign() -> Bundle:
    found = Bundle("non-distributable layers")
    elsewhere = {
        "mediaType": FOREIGN,
        "digest": f"sha256:{hashlib.sha256(b'elsewhere').hexdigest()}",
        "size": 123456,
        "urls": ["https://layers.example.org/elsewhere.tar.gz"],
    }
    found.image("foreign", "image", layers=[found.layer("here"), elsewhere])
    return found


def _sha512() -> Bundle:
    found = Bundle("sha512 index", "sha512")
    found.platforms("index")
    return found


BUNDLES = {
    make().group: make
    for make in (
        _image, _uncompressed, _large, _index, _nested, _empty_index, _artifact, _artifact_index, _without_layers,
        _subject, _index_with_subject, _missing_subject, _data_field, _no_layers, _custom_fields, _foreign, _sha512,
    )
}  # fmt: skip
