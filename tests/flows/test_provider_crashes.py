"""A worker killed before and after every step of a provider's pipeline: the release ends by itself, signed once."""

import subprocess
import time

import pytest

from apps.providers.publishing import STEPS
from apps.releases.publishing.pipeline import points
from tests.builders import providers
from tests.live import Live, start_live

pytestmark = pytest.mark.live

POINTS = points(STEPS)
# A short lease keeps the test short. One release at a time: a kill hits at its point, and nobody else half-way.
SHORT = {"LARDER_JOB_LEASE_SECONDS": "5", "LARDER_WORKER_CONCURRENCY": "1", "LARDER_JOB_ATTEMPTS": "60"}


def make_key(client, algorithm: str = "ed25519") -> None:
    client.put("/api/v1/namespaces/acme", json={"visibility": "public"}).raise_for_status()
    client.post("/api/v1/namespaces/acme/keys", json={"generate": algorithm}).raise_for_status()
    deadline = time.monotonic() + 60
    while not any(key["state"] == "active" for key in client.get("/api/v1/namespaces/acme/keys").json()["keys"]):
        assert time.monotonic() < deadline, "no key was made"
        time.sleep(0.2)


def hand_in(client, version: str) -> str:
    """Two packages, for the registry to sign; answers where the release is shown."""
    url = f"/api/v1/providers/acme/dns/{version}"
    client.post(url, json={"protocols": ["5.0"]}).raise_for_status()
    for name, data in providers.dist("dns", version, ("linux_amd64", "darwin_arm64"), protocols=()).items():
        if name.endswith(".zip"):
            client.put(f"{url}/files/{name}", content=data).raise_for_status()
    client.post(f"{url}/publish").raise_for_status()
    return url


def staged(larder: Live) -> list[str]:
    return [path.name for path in (larder.data_dir / "blobs" / "staging").rglob("*") if path.is_file()]


def check_signature(client, version: str, folder) -> None:
    found = client.get(f"/v1/providers/acme/dns/{version}/download/linux/amd64").json()
    key, sums, signature = folder / "key.asc", folder / "sums", folder / "sums.sig"
    key.write_text(found["signing_keys"]["gpg_public_keys"][0]["ascii_armor"])
    sums.write_bytes(client.get(found["shasums_url"]).content)
    signature.write_bytes(client.get(found["shasums_signature_url"]).content)
    ring = folder / f"ring-{version}"
    subprocess.run(["gpg", "--dearmor", "-o", ring, key], check=True, capture_output=True)
    subprocess.run(["gpgv", "--keyring", ring, signature, sums], check=True, capture_output=True)


@pytest.mark.timeout(600)
def test_killed_at_every_point_the_release_is_published_once_and_nothing_is_left(tmp_path):
    versions = {f"7.0.{number}": point for number, point in enumerate(POINTS)}
    plan = ",".join(f"{point}@{version}" for version, point in versions.items())
    with start_live(tmp_path, LARDER_CRASH_AT=plan, **SHORT) as larder:
        with larder.client(larder.token()) as client, larder.more_workers(2):
            make_key(client)
            urls = {version: hand_in(client, version) for version in versions}
            for version, url in urls.items():
                document = larder.wait_for(client, url)
                assert document["state"] == "published", document
                check_signature(client, version, tmp_path)
            listed = client.get("/v1/providers/acme/dns/versions").json()["versions"]
        assert len(listed) == len(POINTS)
        assert len([*larder.data_dir.glob("crashed-*")]) == len(POINTS), "every point was reached and killed its worker"
        deadline = time.monotonic() + 60
        while staged(larder) and time.monotonic() < deadline:
            time.sleep(0.5)
        assert staged(larder) == []
