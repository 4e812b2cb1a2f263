"""A publisher at work: opens drafts, sends files and hands them in as `curl` would; and keys that sign."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, User
from apps.jobs.models import Job
from apps.providers import publishing
from apps.providers.tasks import publish_provider
from apps.releases.models import Release
from apps.signing import key_generation, keys
from apps.signing.models import SigningKey
from tests import children
from tests.builders import providers
from tests.builders.keys import TestKey, signing_key

URL = "/api/v1/providers/acme/dns/1.2.0"
STEM = "terraform-provider-dns_1.2.0"
SUMS, SIGNATURE, MANIFEST = f"{STEM}_SHA256SUMS", f"{STEM}_SHA256SUMS.sig", f"{STEM}_manifest.json"
LINUX, DARWIN = f"{STEM}_linux_amd64.zip", f"{STEM}_darwin_arm64.zip"
PLATFORMS = ("darwin_arm64", "linux_amd64")


def dist(version: str = "1.2.0", **more: Any) -> dict[str, bytes]:
    return providers.dist("dns", version, PLATFORMS, **more)


def zips(version: str = "1.2.0") -> dict[str, bytes]:
    """Only the zips, as for a registry that signs."""
    return {name: data for name, data in dist(version).items() if name.endswith(".zip")}


def signed(files: Mapping[str, bytes], key: TestKey | None = None, *options: str) -> dict[str, bytes]:
    """The build folder with the signature of its sums."""
    sums = next(name for name in files if name.endswith("_SHA256SUMS"))
    return {**files, f"{sums}.sig": (key or signing_key()).sign(files[sums], *options)}


@dataclass
class DraftClient:
    client: Client
    url: str = URL

    def open(self, **wanted: Any) -> Any:
        return self.client.generic("POST", self.url, json.dumps(wanted) if wanted else b"")

    def put(self, name: str, data: bytes, **more: Any) -> Any:
        return self.client.generic("PUT", f"{self.url}/files/{name}", data, **more)

    def delete(self, name: str) -> Any:
        return self.client.delete(f"{self.url}/files/{name}")

    def get(self) -> dict[str, Any]:
        return json.loads(self.client.get(self.url).content)

    def hand_in(self) -> Any:
        return self.client.generic("POST", f"{self.url}/publish")

    def hand_over(self, files: Mapping[str, bytes], **wanted: Any) -> Release:
        """The whole way up to the worker."""
        opened = self.open(**wanted)
        assert opened.status_code == 201, opened.content
        for name, data in files.items():
            sent = self.put(name, data)
            assert sent.status_code == 201, sent.content
        handed_in = self.hand_in()
        assert handed_in.status_code == 202, handed_in.content
        return Release.objects.latest("pk")

    def publish(self, files: Mapping[str, bytes], **wanted: Any) -> dict[str, Any]:
        """With a worker at its end; answers the release document."""
        self.hand_over(files, **wanted)
        work()
        return self.get()


def work() -> None:
    """Do what a worker would, in this process; the child is asked about the same bytes once."""
    for job in Job.objects.filter(kind=publishing.JOB, state="queued").order_by("pk"):
        Job.objects.filter(pk=job.pk).update(not_before=None)
        with children.remembered():
            publish_provider(job_id=job.pk)


def register(namespace: Namespace, owner: User, made: TestKey | None = None) -> SigningKey:
    """A public key of the namespace's publisher."""
    return keys.register_or_renew(namespace=namespace, armor=(made or signing_key()).armor, actor=Viewer(owner))[0]


def hold(namespace: Namespace, owner: User, made: TestKey | None = None) -> SigningKey:
    """A key that the registry signs with. The process must be unlocked, as workers are."""
    secret = (made or signing_key("rsa3072")).secret_armor.encode()
    return key_generation.import_key(namespace=namespace, material=secret, passphrase="", actor=Viewer(owner))


def body(response: Any) -> dict[str, Any]:
    return json.loads(response.content)


def codes(document: Mapping[str, Any]) -> list[str]:
    return [reason["code"] for reason in document["reasons"]]
