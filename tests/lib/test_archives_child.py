"""The child process: it can do nothing but read, costs what it may, and never outlives its parent."""

import io
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

import pytest

from apps.lib import archives
from tests.builders.archives import corpus, module_zip
from tests.builders.zips import Member, build, zeros_bomb

T = TypeVar("T")
ROOT = Path(archives.__file__).parents[2]
MIB = 1 << 20
CONFINE = (
    "import sys; sys.path.insert(0, sys.argv[1]); import os, socket; "
    "from apps.lib.zips.confinement import confine; from apps.lib.zips.limits import Limits; "
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own means: Linux only")


@pytest.fixture
def inspect(tmp_path: Path) -> Callable[..., archives.Listing]:
    def run(data: bytes, limits: archives.Limits | None = None, *wanted: str) -> archives.Listing:
        path = tmp_path / "archive.zip"
        path.write_bytes(data)
        with path.open("rb") as file:
            return archives.inspect(file, limits or archives.Limits(), wanted)

    return run


def endless() -> bytes:
    """Ten gigabytes of zeros: where the limits are raised, many seconds of honest work."""
    return zeros_bomb(256 * MIB, count=40)


def code_of(refusal: pytest.ExceptionInfo[archives.Refusal]) -> str:
    return refusal.value.reasons[0].code


def test_another_process_reads_the_archive_and_says_the_same(inspect):
    data = module_zip()
    there, here = (
        inspect(data, None, "readme.md"),
        archives.read_zip(io.BytesIO(data), archives.Limits(), ["readme.md"]),
    )

    assert there.pid != here.pid == os.getpid()
    assert (there.digest, there.size, there.entries, there.texts) == (here.digest, here.size, here.entries, here.texts)


def test_names_and_texts_come_through_whole(inspect):
    listing = inspect(module_zip({"日本/\"'.tf": "", "README.md": bytes(range(256))}), None, "readme.md")

    assert [entry.name for entry in listing.entries] == ["日本/\"'.tf", "README.md"]
    assert listing.texts == {"README.md": bytes(range(256))}


def test_every_reason_comes_through_the_pipe(inspect):
    for case in corpus()[:60:3]:
        if case.reason_code and isinstance(case.data, bytes):
            with pytest.raises(archives.Refusal) as refusal:
                inspect(case.data)
            assert code_of(refusal) == case.reason_code


def test_a_control_character_is_shown_although_the_child_can_import_nothing(inspect):
    with pytest.raises(archives.Refusal) as refusal:
        inspect(build([Member("a\x1bb\u2028\x85.tf")]))

    assert refusal.value.reasons[0].file == r"a\x1bb\u2028\x85.tf"


def test_the_position_of_the_file_does_not_matter_and_stays():
    with tempfile.TemporaryFile() as file:
        file.write(module_zip())  # not flushed
        at = file.tell()

        assert archives.inspect(file, archives.Limits()).size == at
        assert file.tell() == os.lseek(file.fileno(), 0, os.SEEK_CUR) == at


@pytest.mark.parametrize(
    "attempt",
    ["open('/etc/passwd')", "open('/tmp/written', 'w')", "socket.socket()", "os.pipe()", "os.dup(0)", "import wave"],
)
def test_inside_the_limits_nothing_can_be_opened(attempt: str):
    code = f"{CONFINE}confine(Limits())\ntry:\n    {attempt}\nexcept OSError as error:\n    os.write(1, b'EMFILE')"
    probe = [sys.executable, "-I", "-S", "-c", code, str(ROOT)]

    done = subprocess.run(probe, capture_output=True, check=False)

    # An import that cannot open its folder says ModuleNotFoundError; either way nothing was opened.
    assert done.stdout == b"EMFILE" or (attempt == "import wave" and done.returncode == 1)


@linux
def test_inside_the_limits_no_process_can_be_started():
    # The kernel exempts root from RLIMIT_NPROC: become nobody first, as a service would not be root either.
    become = "os.setgid(65534); os.setuid(65534)\n" if os.geteuid() == 0 else ""
    code = f"{CONFINE}{become}confine(Limits())\ntry:\n    os.fork()\nexcept OSError:\n    os.write(1, b'EAGAIN')"

    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(ROOT)], capture_output=True, check=False)

    assert done.stdout == b"EAGAIN", done.stderr


@linux
def test_the_child_dies_with_a_parent_that_is_killed(tmp_path: Path):
    path = tmp_path / "endless.zip"
    path.write_bytes(endless())
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from apps.lib import archives; "
        "archives.inspect(open(sys.argv[2], 'rb'), archives.Limits(unpacked_bytes=1 << 40, ratio=1 << 20))"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(ROOT), str(path)]) as parent:
        child = wait_for(lambda: child_of(parent.pid))
        time.sleep(0.3)  # so that it has asked the kernel for the signal
        parent.kill()

    wait_for(lambda: not alive(child))


def test_the_child_stops_by_its_own_clock(inspect):
    started = time.monotonic()
    with pytest.raises(archives.Refusal) as refusal:
        inspect(endless(), archives.Limits(unpacked_bytes=1 << 40, ratio=1 << 20, seconds=1))

    assert code_of(refusal) == "too_slow"
    assert time.monotonic() - started < 6


@pytest.mark.parametrize(
    ("start", "seconds", "word"),
    [
        ("import time; time.sleep(60)", 1, "1 seconds"),
        (f"{CONFINE}confine(Limits(seconds=0))\nwhile True: pass", 9, "SIGXCPU"),
        ("import os; os.abort()", 9, "SIGABRT"),
        ("import os; os.kill(os.getpid(), 11)", 9, "SIGSEGV"),
    ],
    ids=["it sleeps", "it burns CPU", "it aborts", "it crashes"],
)
@linux
def test_a_child_that_must_be_stopped_is_a_refusal(inspect, monkeypatch, start: str, seconds: int, word: str):
    monkeypatch.setattr(archives, "_START", start)
    monkeypatch.setattr(archives, "_GRACE", 0.2)
    started: list[subprocess.Popen[bytes]] = []
    start_child = archives._started

    def noted(file: BinaryIO, request: str) -> subprocess.Popen[bytes]:
        started.append(start_child(file, request))
        return started[-1]

    monkeypatch.setattr(archives, "_started", noted)

    with pytest.raises(archives.Refusal, match=word) as refusal:
        inspect(module_zip(), archives.Limits(seconds=seconds))

    assert code_of(refusal) == "too_expensive"
    assert [child.returncode is not None for child in started] == [True]  # nothing is left to reap


@pytest.mark.parametrize(
    "start",
    [
        "raise SystemExit(3)",
        "pass",
        "print('[]')",
        "print('{}')",
        "print('{' * 100000)",
        "import sys\nwhile True: sys.stdout.write('x' * 65536)",
        "import os; os.kill(os.getpid(), 9)",
        "import os; os.kill(os.getpid(), 15)",
    ],
)
def test_a_check_that_breaks_says_nothing_about_the_archive(inspect, monkeypatch, start: str):
    monkeypatch.setattr(archives, "_START", start)

    with pytest.raises(archives.CheckBroken):
        inspect(module_zip())


def test_a_check_that_cannot_start_is_broken(inspect, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    with pytest.raises(archives.CheckBroken, match="cannot start"):
        inspect(module_zip())


def test_the_child_knows_nothing_of_the_environment(inspect, monkeypatch):
    monkeypatch.setenv("LARDER_SECRET", "s3cret")
    tell = "import json, os; print(json.dumps({'broken': str(sorted(os.environ)) + str(os.listdir('/proc/self/fd'))}))"
    monkeypatch.setattr(archives, "_START", tell)

    with pytest.raises(archives.CheckBroken) as told:
        inspect(module_zip())

    assert "LARDER" not in str(told.value)


@linux
def test_the_memory_limit_holds(inspect):
    data = build([Member(f"{'n' * 100}{number}.tf", method=0) for number in range(60_000)])

    with pytest.raises(archives.Refusal) as refusal:
        inspect(data, archives.Limits(memory_bytes=48 * MIB))

    assert code_of(refusal) == "too_expensive"
    assert len(inspect(data).entries) == 60_000


def test_a_bomb_is_refused_quickly_and_in_little_memory(tmp_path: Path):
    path = tmp_path / "bomb.zip"
    path.write_bytes(zeros_bomb(500 * MIB, declared=500 * MIB - 1))
    code = (
        "import sys, resource; sys.path.insert(0, sys.argv[1]); from apps.lib import archives\n"
        "try:\n    archives.inspect(open(sys.argv[2], 'rb'), archives.Limits(ratio=1 << 20))\n"
        "except archives.Refusal as refusal:\n"
        "    print(refusal.reasons[0].code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(path)], capture_output=True, text=True, check=True
    )

    verdict, kilobytes = done.stdout.split()
    assert verdict == "size_mismatch"
    assert time.monotonic() - started < 5
    assert int(kilobytes) < 40_000


def test_our_own_limits_are_untouched():
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 0


def child_of(parent: int) -> int | None:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            return int(stat.parent.name)
    return None


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # An orphan is reaped by whoever is process 1 here, perhaps late: a zombie is as dead as it gets.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def wait_for(condition: Callable[[], T | None], seconds: float = 5) -> T:
    """What the condition gives as soon as it is true. Fails after the seconds."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return found
