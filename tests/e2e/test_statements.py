"""A Larder that runs: its statement about a release, verified with the programs that people have."""

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.builders.archives import module_zip
from tests.larders import STATING
from tests.live import Live
from tests.site.processes import eventually

pytestmark = pytest.mark.live

URL = "/api/v1/modules/stated/vpc/aws/0.7.0/statement"


@pytest.fixture(scope="module")
def larder(impatient: Live) -> Iterator[Live]:
    """A worker is killed once, between the signature and its row."""
    with impatient.more_workers(1):
        yield impatient


@pytest.fixture(scope="module")
def envelope(larder: Live) -> bytes:
    with larder.client(larder.token()) as client:
        client.put("/api/v1/namespaces/stated", json={"visibility": "public"}).raise_for_status()
    release = larder.publish("stated/vpc/aws", "0.7.0", module_zip(), larder.token())
    assert release["state"] == "published", release
    with larder.client() as anybody:
        return answered(anybody, URL)


def answered(client: httpx.Client, url: str) -> bytes:
    def is_signed() -> bool:
        answer = client.get(url)
        assert answer.status_code == 200 or "has not been signed yet" in answer.text
        return answer.status_code == 200

    eventually(is_signed, seconds=120, what="its statement")
    return client.get(url).content


@pytest.fixture
def folder(larder: Live, envelope: bytes, tmp_path: Path) -> Path:
    """The files that a person downloads to verify it."""
    document = json.loads(envelope)
    [signature] = document["signatures"]
    kind, payload = document["payloadType"].encode(), base64.b64decode(document["payload"])
    with larder.client() as anybody:
        [key] = anybody.get("/api/v1/statement-keys").json()["keys"]
        assert key["id"] == signature["keyid"]
        (tmp_path / "key.pem").write_bytes(anybody.get(f"/api/v1/statement-keys/{key['id']}/pem").content)
        where = anybody.get("/v1/modules/stated/vpc/aws/0.7.0/download").headers["X-Terraform-Get"]
        (tmp_path / "vpc-aws-0.7.0.zip").write_bytes(anybody.get(where.partition("?archive")[0]).content)
    (tmp_path / "statement.json").write_bytes(envelope)
    (tmp_path / "sig.bin").write_bytes(base64.b64decode(signature["sig"]))
    (tmp_path / "pae.bin").write_bytes(b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload))
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def test_a_worker_that_was_killed_after_it_signed_leaves_one_statement(larder, envelope):
    marker = larder.data_dir / f"crashed-{STATING.replace(':', '-')}"
    assert marker.exists(), "the worker was not killed at that point"
    mine = (
        "SELECT COUNT(*) FROM provenance_statement AS stated JOIN releases_release AS release "
        "ON release.id = stated.release_id JOIN accounts_namespace AS space ON space.id = release.namespace_id "
        "WHERE space.name = 'stated'"
    )
    events = (
        "SELECT COUNT(*) FROM audit_auditevent "
        "WHERE kind = 'namespace:release:stated' AND subject = 'stated/vpc/aws 0.7.0'"
    )
    assert (larder.query(mine), larder.query(events)) == (1, 1)
    assert larder.query("SELECT COUNT(*) FROM signing_statementkey") == 1


@pytest.mark.needs("openssl")
def test_openssl_verifies_the_statement_and_the_archive(folder):
    verify = ("pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in", "pae.bin", "-sigfile", "sig.bin")
    done = run(folder, "openssl", *verify)
    assert "Verified Successfully" in done.stdout, done.stderr
    digest = run(folder, "openssl", "dgst", "-sha256", "-r", "vpc-aws-0.7.0.zip").stdout.split()[0]
    payload = json.loads(base64.b64decode(json.loads((folder / "statement.json").read_bytes())["payload"]))
    assert {"name": "vpc-aws-0.7.0.zip", "digest": {"sha256": digest}} in payload["subject"]


@pytest.mark.needs("cosign")
def test_cosign_verifies_the_statement_about_the_archive_and_about_no_other(folder):
    words = ("cosign", "verify-blob-attestation", "--key", "key.pem", "--signature", "statement.json")
    more = ("--type", "slsaprovenance1", "--insecure-ignore-tlog=true")
    done = run(folder, *words, *more, "vpc-aws-0.7.0.zip")
    assert done.returncode == 0, done.stderr
    assert run(folder, *words, *more, "key.pem").returncode != 0
