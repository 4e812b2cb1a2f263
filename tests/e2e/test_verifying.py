"""The commands of docs/verifying.md, and those of the Origin page, in a plain shell."""

import base64
import hashlib
import json
from pathlib import Path

import pytest

from tests import documents
from tests.builders.attestations import BUNDLE
from tests.builders.sigstore import Sigstore
from tests.e2e.pages import Registry
from tests.site.processes import eventually

pytestmark = [pytest.mark.live, pytest.mark.needs("curl", "openssl", "gpg")]
PAGE = "docs/verifying.md"
HERE = "tests/e2e/test_verifying.py::"
MODULE, PROVIDER = "modules/acme/vpc/aws/1.2.0", "providers/acme/dns/1.2.0"
ZIP, PACKAGE = "vpc-aws-1.2.0.zip", "terraform-provider-dns_1.2.0_linux_amd64.zip"
SHELLS = ["sh", *(pytest.param(shell, marks=pytest.mark.needs(shell)) for shell in ("dash", "bash"))]


@pytest.fixture(scope="module")
def registry(example: Registry) -> Registry:
    """With a statement about the module and about the provider."""
    with example.larder.client(example.manage) as client:
        stated = [f"/api/v1/{version}/statement" for version in (MODULE, PROVIDER)]
        eventually(lambda: all(client.get(one).status_code == 200 for one in stated), what="a statement")
    return example


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder in which the commands are run."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def block(test: str) -> str:
    (fence,) = documents.run_by(HERE + test, PAGE)
    return fence.text


def run(registry: Registry, folder: Path, *blocks: str, shell: str = "sh") -> str:
    return registry.type(folder, "\n".join(blocks), shell=shell, LARDER_TOKEN=registry.read)


def refused(registry: Registry, folder: Path, text: str) -> str:
    """Return the output of a shell that must end badly."""
    (folder / "script").write_text(text)
    said = run(registry, folder, "sh -eu script 2>&1 || echo It was refused.")
    assert said.endswith("It was refused.\n"), said
    return said


DIGEST, SIGNATURE, STATEMENT = map(
    block, ("test_the_digest_of_a_module", "test_the_signature_of_a_provider", "test_the_statement")
)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_digest_of_a_module(registry: Registry, work: Path, shell: str) -> None:
    assert f"{ZIP}: OK" in run(registry, work, DIGEST, shell=shell)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_signature_of_a_provider(registry: Registry, work: Path, shell: str) -> None:
    said = run(registry, work, SIGNATURE, shell=shell)

    assert "Good signature" in said
    assert f"{PACKAGE}: OK" in said


@pytest.mark.parametrize("shell", SHELLS)
def test_the_statement(registry: Registry, work: Path, shell: str) -> None:
    said = run(registry, work, DIGEST, STATEMENT, shell=shell)

    assert "Signature Verified Successfully" in said
    assert "The statement names this file." in said


def test_other_bytes_and_another_payload_are_refused(registry: Registry, work: Path) -> None:
    run(registry, work, DIGEST, STATEMENT)
    names = STATEMENT.strip().splitlines()[-1]
    (work / ZIP).write_bytes((work / ZIP).read_bytes() + b"x")
    assert "The statement names this file." not in refused(registry, work, names)
    assert "FAILED" in refused(registry, work, f"echo {hashlib.sha256(b'').hexdigest()}  {ZIP} | sha256sum --check")

    envelope = json.loads((work / "statement.json").read_text())
    payload = base64.b64decode(envelope["payload"]).replace(b"1.2.0", b"1.2.1")
    envelope["payload"] = base64.b64encode(payload).decode()
    (work / "statement.json").write_text(json.dumps(envelope, separators=(",", ":")))
    lines = [line for line in STATEMENT.splitlines() if not line.startswith(("curl", "here", "grep"))]
    assert "Signature Verification Failure" in refused(registry, work, "\n".join(lines))


@pytest.mark.needs("cosign")
def test_the_statement_with_cosign(registry: Registry, work: Path) -> None:
    """In place of the last five lines, as the page says."""
    cosign = block("test_the_statement_with_cosign")
    fetched = STATEMENT.strip().splitlines()[:-5]
    assert "Verified OK" in run(registry, work, DIGEST, *fetched, cosign)
    (work / ZIP).write_bytes(b"other")
    assert "Verified OK" not in refused(registry, work, cosign)


@pytest.mark.needs("gh")
def test_an_attestation_from_github(registry: Registry, work: Path, tmp_path: Path) -> None:
    """GitHub's keys are not here, so its program trusts those of the test, by the option that the page names."""
    run(registry, work, SIGNATURE)
    digest = hashlib.sha256((work / PACKAGE).read_bytes()).hexdigest()
    sigstore = Sigstore(tmp_path)
    attach(registry, sigstore.bundle(digest, repository="acme/dns"))
    (work / "trusted-root.jsonl").write_bytes(sigstore.trusted_root.read_bytes())
    text = f"export GH_FORCE_TTY=100\n{block('test_an_attestation_from_github').strip()}"
    trusting = f"{text} --custom-trusted-root trusted-root.jsonl"

    said = run(registry, work, trusting)
    for part in (f"Loaded digest sha256:{digest}", "Verification succeeded"):
        assert part in said
    for other in (text, trusting.replace("--repo acme/dns", "--repo acme/other")):
        assert "Verification succeeded" not in refused(registry, work, other)
    (work / PACKAGE).write_bytes(b"other")
    assert "Verification succeeded" not in refused(registry, work, trusting)


def attach(registry: Registry, bundle: bytes) -> None:
    with registry.larder.client(registry.manage) as client:
        sent = client.post(f"/api/v1/{PROVIDER}/attestations", content=bundle, headers={"Content-Type": BUNDLE})
        assert sent.status_code == 201, sent.text


@pytest.mark.parametrize(("version", "codes"), [(MODULE, "digest"), (PROVIDER, "digest signature")])
def test_the_commands_of_the_api_verify_the_release(registry: Registry, work: Path, version: str, codes: str) -> None:
    with registry.larder.client(registry.read) as client:
        listed = client.get(f"/api/v1/{version}/origin").json()["commands"]
    expected = ["download", *codes.split(), "statement", "statement-signature", "statement-subject", "cosign"]
    assert [one["code"] for one in listed] == expected

    said = run(registry, work, *(one["text"] for one in listed if one["program"] != "cosign"))
    for text in (": OK", "Signature Verified Successfully", "The statement names this file."):
        assert text in said
    assert ("Good signature" in said) == ("signature" in codes)
