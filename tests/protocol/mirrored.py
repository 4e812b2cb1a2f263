"""Another registry as both mirror edges see it, without the room behind: it answers, or raises what a test says."""

import hashlib
import json
import time
from dataclasses import replace
from typing import Any

from django.utils import timezone

from apps.accounts.access.asking import Asker
from apps.blobs import capabilities, ingest
from apps.lib.errors import CredentialsRequired, NotFound, RegistryError
from apps.lib.formats.oci_manifests import EMPTY_DIGEST, IMAGE_INDEX, digest_of
from apps.lib.mirrored import (
    HostedProvider,
    MirroredDocument,
    MirroredPackage,
    MirroredVersion,
    MirroredVersions,
    VersionUnknown,
)

HOST = "registry.elsewhere.example"
PROVIDER = HostedProvider(HOST, "hashicorp", "random")
ZIP = b"PK a zip of another registry"
RAW = json.dumps({"mediaType": IMAGE_INDEX, "manifests": []}).encode()


class HeldBack(RegistryError):
    """The refusal of a rule."""

    code = "forbidden"


def package(platform: str, **more) -> MirroredPackage:
    os, arch = platform.split("_")
    name = f"terraform-provider-random_3.1.0+build.1_{platform}.zip"
    fields: dict[str, Any] = {
        "digest": hashlib.sha256(ZIP).hexdigest(),
        "size": len(ZIP),
        "h1": "h1:abc=",
        "is_public": True,
    }
    return MirroredPackage(os, arch, name, manifest_digest="", **(fields | more))


class OneProvider:
    """hashicorp/random with one version. `error` is raised by everything; `uses` are those it counted."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.seconds = 60.0
        self.is_public = True
        self.askers: list[Asker] = []
        self.uses: list[str] = []

    def require_visible(self, asker: Asker, host: str) -> None:
        if host != HOST:
            raise NotFound(host) if asker.viewer.is_identified else CredentialsRequired(host)
        self.askers.append(asker)
        if self.error is not None:
            raise self.error

    def _find(self, asker: Asker, provider: HostedProvider) -> None:
        assert time.monotonic() - 1 < asker.until
        self.require_visible(asker, provider.host)
        if provider != PROVIDER:
            raise NotFound(str(provider))

    def versions(self, asker: Asker, provider: HostedProvider) -> MirroredVersions:
        self._find(asker, provider)
        return MirroredVersions(["3.1.0+build.1", "3.0.0"], self.seconds)

    def version(self, asker: Asker, provider: HostedProvider, number: str) -> MirroredVersion:
        self._find(asker, provider)
        if number not in ("3.1.0", "3.1.0+build.1"):
            raise VersionUnknown(number)
        found = [package("linux_amd64"), package("darwin_arm64", digest="a" * 64, h1="", size=None)]
        found = [replace(one, is_public=self.is_public) for one in found]
        return MirroredVersion("3.1.0+build.1", found, self.seconds)

    def stored(
        self, asker: Asker, provider: HostedProvider, number: str, filename: str, *, capability: str = ""
    ) -> MirroredPackage:
        self._find(asker, provider)
        (found,) = [one for one in self.version(asker, provider, number).packages if one.filename == filename]
        now = timezone.now()
        is_open = capabilities.verify(capability, digest=found.digest, file_name=filename, now=now)
        if not (self.is_public or is_open or asker.viewer.is_identified):
            raise CredentialsRequired("It needs credentials.")
        return found

    def index(self, asker: Asker, provider: HostedProvider, number: str) -> MirroredDocument:
        self.version(asker, provider, number)
        return MirroredDocument(RAW, digest_of(RAW), IMAGE_INDEX, self.seconds)

    def document(self, asker: Asker, provider: HostedProvider, digest: str) -> MirroredDocument:
        found = self.index(asker, provider, "3.1.0")
        if digest != found.digest:
            raise VersionUnknown(digest)
        return found

    def stored_by_digest(self, asker: Asker, provider: HostedProvider, digest: str) -> MirroredPackage | None:
        self._find(asker, provider)
        if digest == EMPTY_DIGEST:
            return None
        found = package("linux_amd64")
        if digest != f"sha256:{found.digest}":
            raise VersionUnknown(digest)
        return found

    def record_use(self, provider: HostedProvider, package: MirroredPackage) -> None:
        assert provider == PROVIDER
        self.uses.append(package.filename)


def store_zip() -> None:
    with ingest.receive([ZIP]) as arrival:
        blob = ingest.claim(arrival.fingerprint)
        arrival.store()
    ingest.mark_ready(blob)
