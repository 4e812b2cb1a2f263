"""The confined child: it can do nothing but read and answer, costs what it may, and never outlives its parent."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

import pytest

from apps.lib.process import niceness
from apps.lib.sandbox import landlock, starter
from apps.lib.sandbox import parent as confined
from tests.lib.sandbox.processes import children
from tests.programs import CHECKOUT
from tests.rows import for_each_row

PROGRAM = "tests.lib.sandbox.programs"
MIB = 1 << 20

linux = pytest.mark.needs("linux")  # the kernel's own means
landlocked = pytest.mark.skipif(landlock.version() < 6, reason="the Landlock of this kernel knows no ports and signals")


def test_it_answers_from_another_process_and_sees_only_what_it_is_handed(run, monkeypatch):
    monkeypatch.setenv("LARDER_SECRET", "s3cret")
    big = "ü\U0001f600" * 200_000  # more than an argument may hold

    told = run("tell", text=big)

    assert told["asked"] == big
    assert told["read"] == "the input"
    assert told["prepared"] == ["before the limits"]
    assert told["pid"] != os.getpid()
    assert not [name for name in told["environment"] if name.startswith(("LARDER", "PATH", "HOME"))]
    assert not [folder for folder in told["path"] if "site-packages" in folder]
    # Our own limits are untouched.
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 0


def test_it_inherits_no_open_file(run):
    with tempfile.TemporaryFile() as secret:
        os.set_inheritable(secret.fileno(), True)
        assert run("descriptors") == {"open": [0, 1, 2]}


def test_it_is_as_nice_as_its_caller_wants(run):
    assert run("niceness") == {"niceness": os.nice(0)}
    wanted = niceness.wanted.set(niceness.IN_BULK)
    try:
        assert run("niceness") == {"niceness": os.nice(0) + niceness.IN_BULK}
    finally:
        niceness.wanted.reset(wanted)


def test_site_packages_are_there_where_they_are_asked_for():
    told = confined.run(
        program="tests.lib.sandbox.parser", request={"text": "a = 1\n"}, limits=confined.Limits(), site_packages=True
    )
    assert told == {"root": "config_file"}


def test_the_position_of_the_file_does_not_matter_and_stays():
    with tempfile.TemporaryFile() as file:
        file.write(b"not flushed")
        at = file.tell()

        told = confined.run(program=PROGRAM, request={"do": "tell", "text": ""}, stdin=file)

        assert told["read"] == "not flushed"
        assert file.tell() == os.lseek(file.fileno(), 0, os.SEEK_CUR) == at


@for_each_row(
    "code",
    [
        "open('/etc/passwd')",
        "open('/tmp/written', 'w')",
        "import socket; socket.socket()",
        "os.pipe()",
        "os.dup(0)",
        "import wave",
        "os.open('/', os.O_RDONLY)",
    ],
)
def test_nothing_can_be_opened(run, code: str):
    assert run("attempt", code=code)["failed"] in ("OSError", "ModuleNotFoundError", "ImportError")


@landlocked
@for_each_row(
    "code",
    [
        "os.unlink('{folder}/file')",
        "os.rename('{folder}/file', '{folder}/other')",
        "os.truncate('{folder}/file', 0)",
        "os.mkdir('{folder}/other')",
        "os.symlink('/etc', '{folder}/other')",
        "os.execv('/bin/true', ['true'])",
        "os.kill(os.getppid(), 0)",
    ],
)
def test_nothing_can_be_changed_executed_or_killed_without_opening_it(run, tmp_path, code: str):
    (tmp_path / "file").write_text("kept")

    assert run("attempt", code=code.format(folder=tmp_path)) == {"failed": "PermissionError"}

    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "kept")]


ALONE = """
import socket, sys
sys.path.insert(0, sys.argv[1])
from apps.lib.sandbox.powers import Powers, confine
confine(Powers(9, 1 << 30, descriptors=64))
"""


@landlocked
@for_each_row(
    "code", ["open('/etc/passwd')", "open(sys.argv[1] + '/manage.py')", "socket.create_connection(('127.0.0.1', 9), 5)"]
)
def test_files_and_connections_are_refused_even_where_descriptors_are_left(code: str):
    """Root, as which some containers run, may raise its own limit of them."""
    ended = subprocess.run([sys.executable, "-c", ALONE + code, CHECKOUT], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr.splitlines()[-1][:15]) == (1, "PermissionError")


@linux
def test_no_process_can_be_started(run):
    assert run("become_nobody") == {"failed": "BlockingIOError"}


@pytest.mark.slow
@for_each_row(
    ("do", "seconds", "word"),
    [
        ("sleep", 1, "1 seconds"),
        ("burn", 0, "SIGXCPU"),
        ("abort", 9, "SIGABRT"),
        ("crash", 9, "SIGSEGV"),
        ("fill", 9, "memory"),
    ],
)
@linux
def test_a_child_that_must_be_stopped_cost_too_much(run, monkeypatch, do: str, seconds: int, word: str):
    monkeypatch.setattr(confined, "_GRACE", 0.2 if do == "sleep" else 30.0)  # the machine may be busy

    with pytest.raises(confined.TooExpensive, match=word):
        run(do, confined.Limits(seconds=seconds))

    assert children() == []


@for_each_row(
    ("do", "request_"),
    [
        ("break_down", {}),
        ("no_such_function", {}),
        ("leave", {"code": 0}),
        ("leave", {"code": 3}),
        ("scribble", {"text": "[]"}),
        ("scribble", {"text": "D\0\0\0\2[]"}),
        ("scribble", {"text": "D\0\0\0\x0f{'document': 1}"}),
        ("scribble_for_ever", {}),
        ("kill", {}),
        ("kill", {"signal": 15}),
        ("pour", {}),
    ],
    ids=str,
)
def test_a_check_that_breaks_says_nothing_about_the_input(run, do: str, request_: dict[str, Any]):
    with pytest.raises(confined.CheckBroken):
        run(do, **request_)

    assert children() == []


def test_an_answer_or_a_piece_of_output_that_is_too_long_is_not_read(run):
    limits = confined.Limits(document_bytes=2000)
    assert run("say", limits, size=1500) == {"text": "x" * 1500}
    with pytest.raises(confined.CheckBroken, match="too long"):
        run("say", limits, size=2000)

    whole: list[bytes] = []
    request = {"do": "pour_one", "size": 1 << 20}
    assert confined.run(program=PROGRAM, request=request, output=whole.append) == {}
    assert [len(piece) for piece in whole] == [1 << 20]
    with pytest.raises(confined.CheckBroken, match="too long"):
        confined.run(program=PROGRAM, request=request | {"size": (1 << 20) + 1}, output=whole.append)


def test_a_check_that_cannot_start_is_broken(run, monkeypatch):
    with pytest.raises(confined.CheckBroken):
        confined.run(program="apps.lib.no_such_program", request={})
    starter.retire()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    with pytest.raises(confined.CheckBroken, match="cannot start"):
        run("tell", text="")


def test_output_comes_in_order_with_the_document_behind_it():
    pieces: list[bytes] = []

    document = confined.run(program=PROGRAM, request={"do": "pour", "pieces": 30}, output=pieces.append)

    assert document == {"pieces": 30}
    assert b"".join(pieces) == b"".join(number.to_bytes(4, "big") * 10_000 for number in range(30))


def test_time_that_the_taker_takes_does_not_count(monkeypatch):
    monkeypatch.setattr(confined, "_GRACE", 60.0)
    late, now = 0.0, time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + late)
    limits = confined.Limits(seconds=0)
    pieces = confined.stream(program=PROGRAM, request={"do": "pour", "pieces": 20}, limits=limits)

    taken = []
    for piece in pieces:
        late += 30  # as if it had taken so long
        taken.append(len(piece))

    assert taken == [40_000] * 20


def test_a_taker_that_stops_ends_the_child():
    pieces = confined.stream(program=PROGRAM, request={"do": "pour"})
    next(pieces)
    assert len(children()) == 1

    pieces.close()

    assert children() == []
