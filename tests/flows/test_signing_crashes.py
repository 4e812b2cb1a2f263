"""A worker killed in the middle of signing, twenty times: no private key stays, and every release is published."""

import os
import signal
import time
from pathlib import Path

import httpx
import pytest

from apps.signing import gnupg_home
from tests.chaos.world import check_invariants
from tests.flows.crashing import check_signature, hand_in, make_key
from tests.live import Live
from tests.signing.conftest import agents_in, homes_of
from tests.site.processes import eventually

pytestmark = [pytest.mark.live, pytest.mark.nightly, pytest.mark.timeout(600)]

KILLS = 20
NAMESPACE = "slowly"
PATIENCE = 2.0


def is_of(larder: Live, process: int) -> bool:
    """Other tests' workers sign as well."""
    try:
        words = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return f"LARDER_DATA_DIR={larder.data_dir}".encode() in words


def signer_of(larder: Live) -> int | None:
    """The process of a worker that has a home for private keys at this moment."""
    for home in gnupg_home.base().glob("larder-gpg-*"):
        process = int(home.name.split("-")[2])
        if (home / "gpg-agent.conf").exists() and is_of(larder, process):
            return process
    return None


def holds_key(process: int) -> bool:
    return any(any(home.glob("private-keys-v1.d/*")) for home in homes_of(process))


class Supply:
    """Releases to be signed: one for each kill, and one more whenever nobody has been signing for a while."""

    def __init__(self, client: httpx.Client) -> None:
        self.client, self.urls = client, dict[str, str]()
        for _ in range(KILLS):
            self.add()

    def add(self) -> None:
        version = f"6.0.{len(self.urls)}"
        self.urls[version] = hand_in(self.client, NAMESPACE, version)


def kill_one(larder: Live, supply: Supply, deadline: float, *, at_once: bool) -> tuple[int, bool]:
    """The process, and whether its home had a private key: gpg imports it first, then signs."""
    idle = time.monotonic()
    while (process := signer_of(larder)) is None:
        assert time.monotonic() < deadline, "nobody signs any more"
        if time.monotonic() - idle > PATIENCE:
            supply.add()
            idle = time.monotonic()
        time.sleep(0.002)
    soon = time.monotonic() + (0 if at_once else 2)
    while not holds_key(process) and homes_of(process) and time.monotonic() < soon:
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)
    had_key = holds_key(process)
    while is_of(larder, process):
        time.sleep(0.002)
    return process, had_key


def test_a_signer_killed_twenty_times_leaves_no_private_key_and_loses_no_release(deadly, tmp_path):
    with deadly.client(deadly.token()) as client:
        make_key(client, NAMESPACE, "rsa4096")
        supply, deadline = Supply(client), time.monotonic() + 200
        killed = dict(kill_one(deadly, supply, deadline, at_once=number % 4 == 0) for number in range(KILLS))
        assert len(killed) == KILLS
        assert sum(killed.values()) >= KILLS // 2, "hardly any had a key in its home: this test tests nothing"
        for version, url in supply.urls.items():
            document = deadly.wait_for(client, url, seconds=120)
            assert document["state"] == "published", document
            check_signature(client, NAMESPACE, version, tmp_path)
    eventually(lambda: not any(homes_of(process) or agents_in(f"larder-gpg-{process}-") for process in killed))
    assert (deadly.data_dir / "signing" / "kek").exists()
    left = [path for path in deadly.data_dir.rglob("*") if path.is_file() and b"PRIVATE KEY BLOCK" in head(path)]
    assert left == []
    check_invariants(deadly, NAMESPACE)


def head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4096)
