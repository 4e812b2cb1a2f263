"""Archives through the child process: the same verdict as here, at a cost that is bounded."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from apps.lib.archives import sandboxed
from apps.lib.sandbox import parent
from tests.builders.archives import module_zip
from tests.builders.zips import Member, build, zeros_bomb

ROOT = Path(sandboxed.__file__).parents[3]
MIB = 1 << 20

linux = pytest.mark.needs("linux")  # the kernel's own means


@pytest.fixture
def inspect(tmp_path: Path) -> Callable[..., sandboxed.Listing]:
    def run(data: bytes, limits: sandboxed.Limits | None = None, *wanted: str) -> sandboxed.Listing:
        path = tmp_path / "archive.zip"
        path.write_bytes(data)
        with path.open("rb") as file:
            return sandboxed.inspect(file, limits or sandboxed.Limits(), wanted)

    return run


def endless() -> bytes:
    """Ten gigabytes of zeros: where the limits are raised, many seconds of honest work."""
    return zeros_bomb(256 * MIB, count=40)


def code_of(refusal: pytest.ExceptionInfo[sandboxed.Refusal]) -> str:
    return refusal.value.reasons[0].code


def test_another_process_reads_the_archive_and_says_the_same(inspect):
    """tests/lib/archives/test_corpus.py compares both for many archives."""
    data = module_zip({"日本/\"'.tf": "", "README.md": bytes(range(256))})
    there = inspect(data, None, "readme.md")
    here = sandboxed.read(io.BytesIO(data), sandboxed.Limits(), ["readme.md"])

    assert there.pid != here.pid == os.getpid()
    assert (there.digest, there.size, there.entries, there.texts) == (here.digest, here.size, here.entries, here.texts)
    assert [entry.name for entry in there.entries] == ["日本/\"'.tf", "README.md"]
    assert there.texts == {"README.md": bytes(range(256))}


def test_a_control_character_is_shown_although_the_child_can_import_nothing(inspect):
    with pytest.raises(sandboxed.Refusal) as refusal:
        inspect(build([Member("a\x1bb\u2028\x85.tf")]))

    assert refusal.value.reasons[0].file == r"a\x1bb\u2028\x85.tf"


@pytest.mark.slow
def test_the_child_stops_by_its_own_clock(inspect, monkeypatch):
    monkeypatch.setattr(parent, "_GRACE", 240.0)  # the parent's clock is the wall's, which a busy machine outruns
    with pytest.raises(sandboxed.Refusal) as refusal:
        inspect(endless(), sandboxed.Limits(unpacked_bytes=1 << 40, ratio=1 << 20, seconds=1))

    assert code_of(refusal) == "too_slow"


def test_a_check_that_answers_nonsense_is_broken(inspect, monkeypatch):
    monkeypatch.setattr(sandboxed, "_INSPECTING", "tests.lib.sandbox.programs")

    with pytest.raises(sandboxed.CheckBroken):
        inspect(module_zip())


@pytest.mark.slow
@linux
def test_the_memory_limit_holds(inspect):
    data = build([Member(f"{'n' * 100}{number}.tf", method=0) for number in range(60_000)])

    with pytest.raises(sandboxed.Refusal) as refusal:
        inspect(data, sandboxed.Limits(memory_bytes=48 * MIB))

    assert code_of(refusal) == "too_expensive"
    assert len(inspect(data).entries) == 60_000


@pytest.mark.slow
def test_a_bomb_is_refused_quickly_and_in_little_memory(tmp_path: Path):
    path = tmp_path / "bomb.zip"
    path.write_bytes(zeros_bomb(500 * MIB, declared=500 * MIB - 1))
    code = (
        "import sys, resource; sys.path.insert(0, sys.argv[1])\n"
        "from apps.lib.archives import sandboxed as archives; from apps.lib.sandbox import starter\n"
        "try:\n    archives.inspect(open(sys.argv[2], 'rb'), archives.Limits(ratio=1 << 20))\n"
        "except archives.Refusal as refusal:\n"
        "    starter.retire(); starter.retired[0].wait()\n"
        "    used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "    print(refusal.reasons[0].code, used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(path)], capture_output=True, text=True, check=True
    )

    verdict, seconds, kilobytes = done.stdout.split()
    assert verdict == "size_mismatch"
    assert 0.05 < float(seconds) < 5, "of processor time"
    assert int(kilobytes) < 40_000
