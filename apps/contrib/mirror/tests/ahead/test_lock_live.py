"""Locks and syncs of a whole Larder with its workers, next to real clients: own and mirrored providers in one file."""

import json
import os
import shutil
import signal
import time

import pytest

from apps.contrib.mirror.tests.locks import HOST, Folder, entry
from tests.builders import faults, misbehaving
from tests.builders.keys import signing_key
from tests.e2e.providers import Depot
from tests.live import Live
from tests.needs import CLIENTS
from tests.site.processes import eventually

pytestmark = pytest.mark.live
PLATFORMS = ("linux_amd64", "darwin_arm64")
MIRROR = """
provider_installation {
  network_mirror {
    url     = "%s/v1/mirror/"
    include = ["%s/*/*"]
  }
  direct { exclude = ["%s/*/*"] }
}
"""


@pytest.fixture(scope="module")
def far(tmp_path_factory):
    with misbehaving.running(tls=tmp_path_factory.mktemp("far")) as registry:
        registry.add_provider(versions=["1.0.0", "1.1.0", "2.0.0"], platforms=PLATFORMS)
        registry.add_provider(
            kind="big", versions=[f"1.{n}.0" for n in range(6)], platforms=["linux_amd64"], size=300_000
        )
        yield registry


@pytest.fixture(scope="module")
def larder(far, impatient: Live) -> Live:
    depot = Depot(impatient, impatient.token(), impatient.token("admin", "read"), signing_key("ed25519"))
    depot.namespace("yard")
    depot.publish("yard/names", "1.0.0", platforms=PLATFORMS)
    with impatient.client(depot.token) as client:
        body = {"enabled": True, "url": far.url, "ca": far.ca, "cooldown_days": 0}
        client.put(f"/api/v1/upstreams/{HOST}", json=body).raise_for_status()
    return impatient


def complete(larder: Live, **fields) -> str:
    with larder.client() as client:
        answer = client.post("/api/v1/lock", json={"platforms": list(PLATFORMS)} | fields)
        deadline = time.monotonic() + 120
        while answer.status_code == 202 or answer.json().get("state") == "running":
            assert time.monotonic() < deadline, answer.text
            time.sleep(0.3)
            answer = client.get(answer.headers.get("Location") or str(answer.url.path))
    assert answer.status_code == 200, answer.text
    assert answer.json()["lock"], answer.text
    return answer.json()["lock"]


@pytest.mark.parametrize("program", CLIENTS)
def test_own_and_mirrored_providers_are_locked_as_the_client_does(program, far, larder, tmp_path):
    folder = Folder(tmp_path, program, far)
    (folder.path / "ca.pem").write_text(f"{far.ca}{larder.ca_bundle.read_text()}")
    block = "\n".join(
        [entry("tool", f"{HOST}/acme/tool", "~> 1.0"), entry("names", f"{larder.host}/yard/names", ">=1")]
    )
    folder.require(block)
    lock = complete(larder, required_providers=block, client=program)
    assert folder.locked(*PLATFORMS) == lock
    assert complete(larder, lock=lock) == lock

    # The client takes the file as it is, on both platforms.
    folder.run("init", "-lockfile=readonly", "-input=false")
    folder.run("providers", "mirror", "-platform=darwin_arm64", "mirror")
    folder.run("providers", "lock", "-platform=darwin_arm64", f"-fs-mirror={folder.path / 'mirror'}")
    assert folder.lock == lock

    # So does one that asks Larder for everything; of its own host, whose port a mirror's URL cannot have, directly.
    (folder.path / "rc").write_text(MIRROR % (larder.url, HOST, HOST))
    shutil.rmtree(folder.path / ".terraform")
    asked = far.count("*.zip")
    folder.run("init", "-lockfile=readonly", "-input=false")
    assert folder.lock == lock
    assert far.count("*.zip") == asked


def test_the_next_worker_goes_on_after_kill_9(far, larder):
    """A registry that is slow, and a worker that is killed in the midst."""
    far.misbehave("*/big/*.zip", faults.slow(200_000))
    larder.manage("upstream", "sync", f"{HOST}/acme/big@>=1.0", "--every=1000", "--pin")
    done = "SELECT done FROM upstream_syncrun ORDER BY id DESC LIMIT 1"
    state = "SELECT state FROM upstream_syncrun ORDER BY id DESC LIMIT 1"
    eventually(lambda: 1 <= (larder.query(done) or 0) < 6, seconds=120)
    worker = "SELECT worker FROM jobs_job WHERE kind = 'sync-upstream' ORDER BY id DESC LIMIT 1"
    killed = larder.query(worker)
    os.kill(int(killed.rpartition(":")[2]), signal.SIGKILL)
    before = larder.query(done)
    assert larder.query(state) == "running"
    fetched = far.count("*/big/1.5.0/*.zip")
    far.behave()
    eventually(lambda: larder.query(state) == "done", seconds=120)
    assert larder.query(done) == 6
    assert before < 6
    assert larder.query(worker) != killed
    assert far.count("*/big/1.5.0/*.zip") == fetched  # what was done is not done again
    assert json.loads(larder.query("SELECT problems FROM upstream_syncrun ORDER BY id DESC LIMIT 1")) == []
    assert larder.query("SELECT count(*) FROM upstream_upstreampackage WHERE is_pinned") == 6
