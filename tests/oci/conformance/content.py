"""Blobs, manifests and indexes to push, each with its own bytes."""

import gzip
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

OCI = "application/vnd.oci"
IMAGE, INDEX = f"{OCI}.image.manifest.v1+json", f"{OCI}.image.index.v1+json"
CONFIG, EMPTY = f"{OCI}.image.config.v1+json", f"{OCI}.empty.v1+json"
GZIP = f"{OCI}.image.layer.v1.tar+gzip"


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

    def blob(self, raw: bytes, media_type: str) -> dict[str, Any]:
        digest = f"{self.algorithm}:{hashlib.new(self.algorithm, raw).hexdigest()}"
        self.blobs[digest] = raw
        return {"mediaType": media_type, "digest": digest, "size": len(raw)}

    def layer(self, name: str) -> dict[str, Any]:
        return self.blob(gzip.compress(f"{self.group} {name}".encode().ljust(600, b"."), mtime=0), GZIP)

    def add(self, fields: dict[str, Any], tag: str = "") -> Document:
        whole = {"schemaVersion": 2, **fields}
        document = Document(json.dumps(whole, indent=1).encode(), whole["mediaType"], self.algorithm)
        self.documents.append(document)
        if tag:
            self.tags[tag] = document
        return document

    def image(self, name: str, tag: str = "", **more: Any) -> Document:
        text = {"architecture": "amd64", "os": "linux", "author": f"{self.group} {name}"}
        config, layers = self.blob(json.dumps(text).encode(), CONFIG), [self.layer(f"{name} {n}") for n in (1, 2)]
        return self.add({"mediaType": IMAGE, "config": config, "layers": layers, **more}, tag)

    def artifact(self, name: str) -> Document:
        kind = {"mediaType": IMAGE, "artifactType": f"application/vnd.example.{name}"}
        return self.add({**kind, "config": self.blob(b"{}", EMPTY), "layers": [self.layer(name)]})

    def index(self, listed: list[Document], tag: str = "", **more: Any) -> Document:
        rows = [document.descriptor() for document in listed]
        return self.add({"mediaType": INDEX, "manifests": rows} | more, tag)

    def platforms(self, tag: str = "", name: str = "", **more: Any) -> Document:
        return self.index([self.image(f"{name} amd64"), self.image(f"{name} arm64")], tag, **more)


def _large() -> Bundle:
    found = Bundle("large manifest")
    found.image("large", "large", annotations={"org.example.filling": "x" * 3_900_000})
    return found


def _nested() -> Bundle:
    found = Bundle("nested index")
    found.index([found.platforms(name="left"), found.platforms(name="right")], "nested")
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


def _sha512() -> Bundle:
    found = Bundle("sha512 index", "sha512")
    found.platforms("index")
    return found


BUNDLES = {make().group: make for make in (_large, _nested, _index_with_subject, _sha512)}
