"""Go's archive/zip, with which OpenTofu and Terraform unpack, reads accepted archives as our own reader does."""

import hashlib
import io
import json
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.lib.archives.child_inspecting import members
from apps.lib.archives.rules.limits import Clock
from apps.lib.archives.sandboxed import Refusal
from tests.builders.archives import corpus
from tests.lib.archives.test_mutations import LIMITS, mutated_zip

MUTANTS = 3_000


@pytest.mark.slow
@pytest.mark.needs("go")
def test_go_reads_every_accepted_zip_as_we_do(tmp_path: Path):
    program = tmp_path / "list_zips"
    source = Path(__file__).with_name("list_zips.go")
    subprocess.run(["go", "build", "-o", program, source], check=True, cwd=tmp_path)
    accepted = {data: ours for data in candidates() if (ours := files_of(data)) is not None}

    packed = b"".join(len(data).to_bytes(4, "little") + data for data in accepted)
    lines = subprocess.run([program], input=packed, capture_output=True, check=True).stdout.splitlines()

    assert len(accepted) > 100
    for (data, ours), line in zip(accepted.items(), lines, strict=True):
        assert not line.startswith(b"error"), (line, data)
        assert sorted(json.loads(line)) == sorted(ours), data


def candidates() -> Iterator[bytes]:
    """The whole corpus except for its costly archives, and damaged ones, most of which are refused."""
    yield from (case.data for case in corpus() if isinstance(case.data, bytes))
    rng = random.Random(7)
    yield from (mutated_zip(rng) for _ in range(MUTANTS))


def files_of(data: bytes) -> list[list[object]] | None:
    """Name, size and digest of each member; None for a zip that is refused."""
    found: list[list[object]] = []
    try:
        for entry, pieces in members(io.BytesIO(data), LIMITS, Clock(30, time.process_time), "zip"):
            content = b"".join(pieces)
            found.append([entry.name, len(content), hashlib.sha256(content).hexdigest()])
    except Refusal:
        return None
    return found
