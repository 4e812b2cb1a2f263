"""One byte of a stored file is flipped, one file is deleted, two are exchanged: no client ever has the wrong bytes.

It is told 503, or its connection breaks before the length that was promised. (tests/blobs/test_integrity.py has the
same on S3.)
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.builders.archives import module_zip
from tests.e2e.conftest import MODULE
from tests.e2e.curl import curl
from tests.live import Live
from tests.site.processes import eventually

pytestmark = [pytest.mark.live, pytest.mark.embedded("damages files of the storage folder")]
# Too long to be judged before the answer begins.
NOISE = 1536 * 1024


@dataclass
class Stored:
    """A module of one version in the public namespace, and the file that holds it."""

    name: str
    data: bytes
    path: Path

    @property
    def address(self) -> str:
        return f"open/{self.name}/aws"

    @property
    def url(self) -> str:
        return f"/archives/{hashlib.sha256(self.data).hexdigest()}/{self.name}-aws-1.0.0.zip"

    def write(self, data: bytes) -> None:
        self.path.unlink(missing_ok=True)
        self.path.write_bytes(data)


def store(live: Live, token: str, name: str) -> Stored:
    data = module_zip({**MODULE, "noise": os.urandom(NOISE)})
    assert live.publish(f"open/{name}/aws", "1.0.0", data, token)["state"] == "published"
    digest = hashlib.sha256(data).hexdigest()
    return Stored(name, data, live.data_dir / "blobs" / "sha256" / digest[:2] / digest)


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.fixture(scope="module")
def files(live: Live, shelf) -> dict[str, Stored]:
    return {name: store(live, shelf.manage, name) for name in ("flipped", "gone", "one", "other", "installed")}


def fetch(live: Live, tmp_path: Path, stored: Stored, protocol: str) -> tuple[int, int, bytes]:
    """curl's exit code, the status, and what it has of the file."""
    to = tmp_path / f"{stored.name}{protocol}"
    code, (status,) = curl(live, to, stored.url, protocol)
    return code, int(status), to.read_bytes()


@pytest.mark.needs("curl")
def test_what_is_damaged_reaches_nobody_is_told_and_is_served_again_when_it_is_right(
    live: Live, shelf, files: dict[str, Stored], tmp_path: Path
) -> None:
    one, other = files["one"], files["other"]
    damaged = [one, other, files["flipped"]]
    one.write(other.data)
    other.write(one.data)
    files["flipped"].write(flipped(files["flipped"].data))
    files["gone"].path.unlink()

    # Nobody has found anything yet. The first two break over either protocol.
    for stored, protocol in ((one, "--http1.1"), (other, "--http2"), (files["flipped"], "--http1.1")):
        exit_code, status, came = fetch(live, tmp_path, stored, protocol)
        assert exit_code != 0, f"{protocol}: {status} with {len(came)} bytes looks whole"
        assert status == 200
        assert len(came) < len(stored.data)
    assert fetch(live, tmp_path, files["gone"], "--http2")[1] == 503

    with live.client() as client:
        for stored in damaged:
            answer = client.get(stored.url)
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    with pytest.raises(AssertionError, match="missing or damaged: 4"):
        live.manage("check_storage", "--whole")

    for stored in (*damaged, files["gone"]):
        stored.write(stored.data)
    live.manage("check_storage", "--whole")
    repaired = [*damaged, files["gone"]]
    with live.client() as client:
        eventually(lambda: all(client.get(stored.url).content == stored.data for stored in repaired))


def test_a_real_client_installs_nothing_of_it(live: Live, shelf, files: dict[str, Stored], terraform) -> None:
    stored = files["installed"]
    stored.write(flipped(stored.data))
    workspace = terraform()
    workspace.module("it", stored.address, "1.0.0")
    assert workspace.init().returncode != 0
    assert not list((workspace.work / ".terraform").glob("modules/it/*.tf"))

    stored.write(stored.data)
    live.manage("check_storage", "--whole")
    with live.client() as client:
        eventually(lambda: client.get(stored.url).status_code == 200)
    done = workspace.init()
    assert done.returncode == 0, done.stderr
