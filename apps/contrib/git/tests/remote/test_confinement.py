"""The confinement of a child: what it may do, and what it leaves behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from apps.contrib.git.remote import children, folders
from apps.contrib.git.remote.access import GitFailed
from apps.lib.process import niceness
from apps.lib.sandbox import landlock
from tests.lib.sandbox.processes import commands, wait_for
from tests.postgres import free_port
from tests.programs import CHECKOUT

pytestmark = pytest.mark.needs("linux")
ROOT = str(CHECKOUT)
confined = pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)"
LISTEN = "import socket, sys; socket.create_server(('127.0.0.1', int(sys.argv[1])))"
LIMITS = """
import ctypes, json, resource
kinds = {"memory": "AS", "seconds": "CPU", "written": "FSIZE", "files": "NOFILE", "core": "CORE"}
found = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{kind}")) for name, kind in kinds.items()}
print(json.dumps({**found, "gains_no_rights": ctypes.CDLL(None).prctl(39, 0, 0, 0, 0)}))  # PR_GET_NO_NEW_PRIVS
"""
GIB = 1 << 30


@pytest.fixture
def run():
    """`run(*words)` returns exit code, output and errors of a confined child."""

    def started(*words, seconds=10, max_bytes=1_000_000, **more):
        with folders.temporary() as folder:
            command = children.Command(words, folder, {}, **more)
            output, ended = children.run(command, children.Clock(seconds), max_bytes)
            return ended.code, output.decode(), ended.errors

    return started


@confined
def test_it_reads_programs_and_nothing_of_larder(run, tmp_path):
    (tmp_path / "secret").write_text("key")

    assert run("cat", "/etc/hosts")[0] == 0
    for path in (tmp_path / "secret", "/etc/shadow", f"/proc/{os.getpid()}/environ", f"{ROOT}/manage.py"):
        code, output, errors = run("cat", str(path))
        assert (code, output) == (1, "")
        assert "Permission denied" in errors


def test_it_is_as_nice_as_its_caller_wants(run):
    wanted = niceness.wanted.set(niceness.IN_BULK)
    try:
        assert run("nice")[1] == f"{os.nice(0) + niceness.IN_BULK}\n"
    finally:
        niceness.wanted.reset(wanted)


@confined
def test_it_writes_into_its_folder_alone(run, tmp_path):
    assert run("sh", "-c", "echo x > own && cat own", file_bytes=100)[1] == "x\n"
    assert run("sh", "-c", f"echo x > {tmp_path}/other", file_bytes=100)[0] != 0
    assert list(tmp_path.glob("other")) == []
    code, output, _ = run("sh", "-c", "yes | head -c 5000 > own; wc -c < own", file_bytes=1000)
    assert (code, output.strip()) == (0, "1000"), "no file beyond the limit"


@pytest.mark.skipif(landlock.version() < 4, reason="this kernel's Landlock does not know ports")
def test_it_connects_to_its_port_alone(run):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        python = ("python3", "-I", "-S", "-c", CONNECT, str(port))
        assert run(*python, port=port)[0] == 0
        for other in (0, free_port()):
            assert "Permission denied" in run(*python, port=other)[2]
    assert "Permission denied" in run("python3", "-I", "-S", "-c", LISTEN, str(port), port=port)[2]


def test_its_memory_processor_time_and_files_are_limited_and_it_gains_no_rights(run):
    code, output, errors = run("python3", "-I", "-S", "-c", LIMITS, seconds=7, file_bytes=1000)

    assert code == 0, errors
    assert json.loads(output) == {
        "memory": [2 * GIB, 2 * GIB],
        "seconds": [7, 8],
        "written": [1000, 1000],
        "files": [256, 256],
        "core": [0, 0],
        "gains_no_rights": 1,
    }
    assert "MemoryError" in run("python3", "-I", "-S", "-c", f"bytearray({3 * GIB})")[2]


@confined
def test_it_executes_nothing_that_it_wrote(run):
    code, output, errors = run("sh", "-c", "printf '#!/bin/sh\\necho run' > own; chmod 700 own; ./own", file_bytes=100)

    assert (code, output) == (126, "")
    assert "Permission denied" in errors


def test_it_has_no_variable_of_this_process(run, monkeypatch):
    monkeypatch.setenv("LARDER_SECRET_KEY", "sesame")

    assert "sesame" not in run("env")[1]


def test_what_it_writes_is_bounded(run):
    with pytest.raises(GitFailed) as caught:
        run("sh", "-c", "yes | head -c 1002", max_bytes=1000)
    assert (caught.value.code, caught.value.is_final) == ("too_large", True)

    code, output, errors = run("sh", "-c", "head -c 1000 /dev/urandom | od; yes | head -c 1000000 >&2")
    assert code == 0
    assert output
    assert len(errors) == 64 * 1024, "the beginning of its errors"


@pytest.mark.slow
def test_its_time_is_bounded(run):
    for words in (("sleep", "20"), ("sh", "-c", "sleep 20 & wait")):
        began = time.monotonic()
        with pytest.raises(GitFailed) as caught:
            run(*words, seconds=1)
        assert caught.value.code == "too_slow"
        assert time.monotonic() - began < 4


def test_all_that_it_started_ends_with_it(run):
    with pytest.raises(GitFailed):
        run("sh", "-c", "sleep 31.4159 & sleep 31.4159", seconds=0.5)

    wait_for(lambda: not any("31.4159" in command for command in commands()), 5)


def test_a_program_that_is_not_installed_is_named(run):
    with pytest.raises(GitFailed, match="no-such-git is not installed"):
        run("no-such-git")


HOLD = """
import sys, tempfile, time
sys.path.insert(0, sys.argv[1])
tempfile.tempdir = sys.argv[2]
from apps.contrib.git.remote import children, folders
with folders.temporary() as folder:
    (folder / "pack").write_text("x")
    command = children.Command(("sh", "-c", "echo ready; sleep 27.1828"), folder, {})
    pieces = children.stream(command, children.Clock(60), 99)
    print(next(pieces), flush=True)
    time.sleep(60)
"""


def is_asleep():
    return any(command.startswith("sleep 27.1828") for command in commands())


def test_after_kill_9_the_child_ends_and_its_folder_is_removed_by_the_next(own_temporary_folder):
    words = [sys.executable, "-c", HOLD, ROOT, str(own_temporary_folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline()
        (left,) = own_temporary_folder.iterdir()
        old = time.time() - 3600
        os.utime(left, (old, old))
        assert folders.sweep() == 0  # it is used, however old it is
        wait_for(is_asleep, 5)  # what the child started does not show at once
        worker.send_signal(signal.SIGKILL)
        worker.wait(10)
    wait_for(lambda: not is_asleep(), 5)
    os.utime(left, (old, old))

    with folders.temporary():
        assert not left.exists()


def test_a_young_folder_and_those_of_others_are_left(own_temporary_folder):
    for name in (f"{folders.PREFIX}young", "somebody-elses"):
        (own_temporary_folder / name).mkdir()
    old = time.time() - 3600
    os.utime(own_temporary_folder / "somebody-elses", (old, old))

    assert folders.sweep() == 0
