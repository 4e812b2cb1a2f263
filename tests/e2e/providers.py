"""Providers in a live Larder: two signed by their publisher, two by the registry, published as scripts do it (D24)."""

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from subprocess import CompletedProcess

import pytest

from tests.builders import providers
from tests.builders.keys import TestKey, signing_key
from tests.e2e.workspace import Workspace
from tests.live import Live

PLATFORMS = ("linux_amd64", "linux_arm64", "darwin_arm64")
LIFECYCLE = """
from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.releases.lifecycle import verbs
from apps.releases.models import Release
namespace, name = {address!r}.split("/")
release = Release.objects.get(kind="provider", namespace__name=namespace, name=name, version={version!r})
verbs.{verb}(release=release, actor=Viewer(User.objects.get(username="admin")), reason="It loses data.")
"""


@dataclass
class Depot:
    """A publisher: `kinds[address]` tells who signed, `key_ids[address]` the key."""

    larder: Live
    token: str
    read: str
    publisher: TestKey

    def namespace(self, name: str, visibility: str = "public") -> str:
        """Makes it where it is not there, with a key that the registry holds; answers the key's id."""
        with self.larder.client(self.token) as client:
            client.put(f"/api/v1/namespaces/{name}", json={"visibility": visibility}).raise_for_status()
        return self.generate(name)

    def generate(self, name: str) -> str:
        url = f"/api/v1/namespaces/{name}/keys"
        with self.larder.client(self.token) as client:
            client.post(url, json={"generate": "ed25519"}).raise_for_status()
            deadline = time.monotonic() + 60
            while True:
                keys = client.get(url).json()["keys"]
                if all(key["state"] != "pending" for key in keys):
                    return next(key["key_id"] for key in keys if key["state"] == "active")
                assert time.monotonic() < deadline, keys
                time.sleep(0.2)

    def register(self, name: str) -> None:
        with self.larder.client(self.token) as client:
            client.post(f"/api/v1/namespaces/{name}/keys", json={"armor": self.publisher.armor}).raise_for_status()

    def retire(self, name: str, key_id: str) -> None:
        url = f"/api/v1/namespaces/{name}/keys"
        with self.larder.client(self.token) as client:
            fingerprint = next(key["fingerprint"] for key in client.get(url).json()["keys"] if key["key_id"] == key_id)
            client.post(f"{url}/{fingerprint}/retire", json={"reason": "Its year is over."}).raise_for_status()

    def publish(
        self, address: str, version: str, *, signed: bool = False, platforms: Sequence[str] = PLATFORMS
    ) -> dict[str, bytes]:
        """Answers the zips by name. `signed`: the whole build folder with the publisher's signature."""
        files = providers.dist(address.split("/")[1], version, platforms)
        zips = {name: data for name, data in files.items() if name.endswith(".zip")}
        if signed:
            sums = next(name for name in files if name.endswith("_SHA256SUMS"))
            self.send(address, version, files | {f"{sums}.sig": self.publisher.sign(files[sums])})
        else:
            self.send(address, version, zips, protocols=["5.0"])
        return zips

    def send(self, address: str, version: str, files: Mapping[str, bytes], **wanted) -> None:
        url = f"/api/v1/providers/{address}/{version}"
        with self.larder.client(self.token) as client:
            client.post(url, json=wanted).raise_for_status()
            for name, data in files.items():
                client.put(f"{url}/files/{name}", content=data).raise_for_status()
            client.post(f"{url}/publish").raise_for_status()
            assert self.larder.wait_for(client, url)["state"] == "published"

    def act(self, address: str, version: str, verb: str) -> None:
        """`deprecate`, `yank` or `restore`, by the verb that every way in calls."""
        self.larder.manage("shell", "-c", LIFECYCLE.format(address=address, version=version, verb=verb))


@pytest.fixture(scope="session")
def depot(live: Live) -> Depot:
    """shed (private) and yard (public), each with dns, signed by its publisher, and names, signed by the registry."""
    depot = Depot(live, live.token(), live.token("admin", "read"), signing_key("ed25519"))
    for name, visibility in (("shed", "private"), ("yard", "public")):
        depot.namespace(name, visibility)
        depot.register(name)
        for version in ("1.0.0", "1.1.0"):
            depot.publish(f"{name}/dns", version, signed=True)
            depot.publish(f"{name}/names", version)
    return depot


def configure(workspace: Workspace, text: str) -> None:
    """Replace the CLI configuration."""
    rc = workspace.folder / "cli.tfrc"
    rc.write_text(text)
    workspace.environment["TF_CLI_CONFIG_FILE"] = str(rc)


def require(workspace: Workspace, address: str, version: str = "", host: str = "") -> None:
    """Write a configuration that needs this one provider."""
    entry = {"source": f"{host or workspace.host}/{address}"} | ({"version": version} if version else {})
    body = {"terraform": {"required_providers": {address.split("/")[1]: entry}}}
    (workspace.work / "main.tf.json").write_text(json.dumps(body))


def lock_of(workspace: Workspace) -> dict[str, set[str]]:
    """The hashes of the lock file by scheme."""
    text = (workspace.work / ".terraform.lock.hcl").read_text()
    found = re.findall(r'"(h1|zh):([^"]+)"', text)
    return {scheme: {value for kind, value in found if kind == scheme} for scheme in ("h1", "zh")}


def said_by(done: CompletedProcess[str]) -> str:
    """The client's output without frames and line breaks."""
    return " ".join((done.stdout + done.stderr).replace("│", " ").split())


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def download(larder: Live, token: str, address: str, version: str, platform: str = "linux_amd64") -> dict:
    with larder.client(token) as client:
        return client.get(f"/v1/providers/{address}/{version}/download/{platform.replace('_', '/')}").json()


def sums_of(larder: Live, document: dict) -> dict[str, str]:
    """The lines of SHA256SUMS as anybody fetches them."""
    with larder.client() as client:
        text = client.get(document["shasums_url"]).text
    return {name: digest for digest, name in (line.split("  ") for line in text.splitlines())}
