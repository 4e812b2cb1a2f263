"""Real OCI clients, each with a home of its own, and what they push."""

import gzip
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live import Live
from tests.oci.manifests.documents import IMAGE, descriptor, digest_of, image

ARTIFACT_TYPE = "application/vnd.opentofu.modulepkg"


@dataclass
class Program:
    """One client in one folder, which is its home and where it writes its credentials."""

    path: str
    folder: Path
    larder: Live

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LARDER_", "DJANGO_"))}
        return inherited | {
            "HOME": str(self.folder),
            "DOCKER_CONFIG": str(self.folder / "docker"),
            "REGISTRY_AUTH_FILE": str(self.folder / "auth.json"),
            "XDG_RUNTIME_DIR": str(self.folder),
            "SSL_CERT_FILE": str(self.larder.ca_bundle),
        }

    def run(self, *arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.path, *arguments],
            env=self.environment,
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def done(self, *arguments: str, stdin: str = "") -> str:
        """Its output; if it fails, the test fails with that output."""
        ended = self.run(*arguments, stdin=stdin)
        assert ended.returncode == 0, (arguments, ended.stdout, ended.stderr)
        assert "protocol error" not in ended.stderr.lower(), (arguments, ended.stderr)
        return ended.stdout

    def refused(self, *arguments: str, stdin: str = "") -> str:
        """The output of a failed run."""
        ended = self.run(*arguments, stdin=stdin)
        assert ended.returncode != 0, (arguments, ended.stdout)
        return ended.stdout + ended.stderr


@dataclass(frozen=True)
class Image:
    """A manifest, byte for byte."""

    raw: bytes

    @property
    def digest(self) -> str:
        return digest_of(self.raw)

    @property
    def fields(self) -> dict[str, Any]:
        return dict(json.loads(self.raw))


def layout(folder: Path, name: str, tag: str = "made") -> Image:
    """An OCI layout with one image under a tag; answers its manifest."""
    config = json.dumps({"architecture": "amd64", "os": "linux", "author": name}).encode()
    layers = [gzip.compress(f"{name} {number}".encode().ljust(600, b"."), mtime=0) for number in (1, 2)]
    rows = [descriptor(layer, "application/vnd.oci.image.layer.v1.tar+gzip") for layer in layers]
    raw = image(config=descriptor(config, "application/vnd.oci.image.config.v1+json"), layers=rows)
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    for data in (config, *layers, raw):
        (blobs / digest_of(data).partition(":")[2]).write_bytes(data)
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    named = descriptor(raw, IMAGE, annotations={"org.opencontainers.image.ref.name": tag})
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [named]}))
    return Image(raw)


def bytes_of(folder: Path, digest: str) -> bytes:
    """A blob of a layout that a client wrote."""
    return (folder / "blobs" / "sha256" / digest.partition(":")[2]).read_bytes()
