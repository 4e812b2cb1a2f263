"""The commands of docs/air-gap.md that need no Larder."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import documents

pytestmark = pytest.mark.needs("openssl")
(FENCE,) = documents.run_by(
    "apps/contrib/copy/tests/bundle/test_by_hand.py::test_openssl_verifies_a_bundle", "docs/air-gap.md"
)


def run(folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["sh", "-eu", "-c", FENCE.text], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def whole(carried: Any, tmp_path: Path) -> Path:
    folder = tmp_path / "whole"
    for part in carried.parts:
        shutil.copytree(part, folder, dirs_exist_ok=True)
    (folder / "registry.pem").write_bytes(carried.pem)
    return folder


def test_openssl_verifies_a_bundle(whole):
    done = run(whole)

    said = ["Signature Verified Successfully", "Every file is as the registry signed it."]
    assert (done.stdout.splitlines(), done.stderr, done.returncode) == (said, "", 0)


def test_openssl_finds_every_changed_byte(carried, whole):
    opened = carried.opened(whole)
    for digest in [*opened.catalogue.blobs, opened.root]:
        path = whole / "blobs" / "sha256" / digest.removeprefix("sha256:")
        raw = path.read_bytes()
        path.write_bytes(bytes([raw[0] ^ 1]) + raw[1:])
        assert run(whole).returncode != 0, digest
        path.write_bytes(raw)
    assert run(whole).returncode == 0


def test_openssl_refuses_the_signature_of_another_key(whole):
    make = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", "other.pem"]
    subprocess.run(make, cwd=whole, check=True)
    subprocess.run(["openssl", "pkey", "-in", "other.pem", "-pubout", "-out", "registry.pem"], cwd=whole, check=True)

    assert "Signature Verification Failure" in (run(whole).stdout + run(whole).stderr)
