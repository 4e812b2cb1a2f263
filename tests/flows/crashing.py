"""A Larder whose workers die: one at every step of both kinds, as the pipelines name them."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from apps.modules import publishing as modules
from apps.providers import publishing as providers
from apps.releases.publishing.pipeline import points
from tests.builders.archives import module_zip
from tests.builders.providers import dist
from tests.live import Live, start_live
from tests.site.processes import eventually

MODULES = {f"7.0.{number}": point for number, point in enumerate(points(modules.STEPS))}
PROVIDERS = {f"8.0.{number}": point for number, point in enumerate(points(providers.STEPS))}
DEATHS = {f"{point}@{version}" for version, point in (MODULES | PROVIDERS).items()}
ASLEEP = "9.0.0"


@contextmanager
def larder_of_deaths(folder: Path) -> Iterator[Live]:
    """With a short lease, and one release at a time: a kill hits at its point, and no other release half-way."""
    variables = {
        "LARDER_CRASH_AT": ",".join([*DEATHS, f"stop:before:enter_ledger@{ASLEEP}"]),
        "LARDER_JOB_LEASE_SECONDS": "5",
        "job_attempts of LARDER_LIMITS": "200",
        "LARDER_WORKER_CONCURRENCY": "1",
    }
    with start_live(folder, why="its workers die at each step", **variables) as larder, larder.more_workers(2):
        yield larder


def send(client: httpx.Client, version: str) -> str:
    """Upload a module; answers where the release is shown."""
    answer = client.put(f"/api/v1/modules/acme/vpc/aws/{version}", content=module_zip(comment=version.encode()))
    assert answer.status_code == 202, answer.text
    return f"/api/v1/releases/{answer.json()['id']}"


def make_key(client: httpx.Client, namespace: str, algorithm: str = "ed25519", visibility: str = "public") -> None:
    """A namespace for whose providers the registry signs."""
    client.put(f"/api/v1/namespaces/{namespace}", json={"visibility": visibility}).raise_for_status()
    keys = f"/api/v1/namespaces/{namespace}/keys"
    client.post(keys, json={"generate": algorithm}).raise_for_status()
    eventually(lambda: any(key["state"] == "active" for key in client.get(keys).json()["keys"]), what="a key")


def hand_in(client: httpx.Client, namespace: str, version: str, *more: str) -> str:
    """A package, and those of more platforms, for the registry to sign; answers where the release is shown."""
    url = f"/api/v1/providers/{namespace}/dns/{version}"
    client.post(url, json={"protocols": ["5.0"]}).raise_for_status()
    for name, data in dist("dns", version, ("linux_amd64", *more), protocols=()).items():
        if name.endswith(".zip"):
            client.put(f"{url}/files/{name}", content=data).raise_for_status()
    client.post(f"{url}/publish").raise_for_status()
    return url


def check_signature(client: httpx.Client, namespace: str, version: str, folder: Path) -> None:
    found = client.get(f"/v1/providers/{namespace}/dns/{version}/download/linux/amd64").json()
    key, sums, signature = folder / "key.asc", folder / "sums", folder / "sums.sig"
    key.write_text(found["signing_keys"]["gpg_public_keys"][0]["ascii_armor"])
    sums.write_bytes(client.get(found["shasums_url"]).content)
    signature.write_bytes(client.get(found["shasums_signature_url"]).content)
    ring = folder / f"ring-{version}"
    subprocess.run(["gpg", "--dearmor", "-o", ring, key], check=True, capture_output=True)
    subprocess.run(["gpgv", "--keyring", ring, signature, sums], check=True, capture_output=True)
