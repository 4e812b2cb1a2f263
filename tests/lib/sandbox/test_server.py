"""The server that children are forked from: it holds nothing, ends with its process, and is replaced if it ends."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from apps.lib.sandbox import parent as confined
from apps.lib.sandbox import starter
from tests.lib.sandbox.conftest import PROGRAM
from tests.lib.sandbox.processes import alive, children, servers, state_of, wait_for
from tests.rows import for_each_row

ROOT = Path(confined.__file__).parents[3]
MIB = 1 << 20
DESCRIPTORS = 7

linux = pytest.mark.needs("linux")  # the kernel's own means


@linux
@for_each_row("do", ["sleep", "descriptors"], ids=["while a check runs", "while none does"])
def test_the_server_and_its_child_end_with_a_parent_that_is_killed(do: str):
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); from apps.lib.sandbox import parent as confined; "
        f"confined.run(program={PROGRAM!r}, request={{'do': {do!r}}}); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(ROOT)]) as parent:
        started = [wait_for(lambda: next(iter(servers(parent.pid)), None))]
        if do == "sleep":
            started.append(wait_for(lambda: next(iter(children(parent.pid)), None)))
        time.sleep(0.3)  # so that each has asked the kernel for the signal
        assert all(map(alive, started))
        parent.kill()

    wait_for(lambda: not any(map(alive, started)))


@linux
def test_one_server_has_forked_all_children_and_holds_nothing_that_is_not_theirs(run, monkeypatch):
    monkeypatch.setenv("LARDER_SECRET", "s3cret")
    starter.retire()
    with tempfile.TemporaryFile() as secret:
        os.set_inheritable(secret.fileno(), True)
        pids = {run("tell", text="")["pid"] for _ in range(3)}

        (server,) = [pid for pid in servers() if "Z" not in state_of(pid)]
        # Standard files, the socket of its orders, the pipe of its signals, the selector; it closes what was its last
        # child's as soon as it is told that the child has ended.
        held = wait_for(lambda: names if len(names := descriptors_of(server)) == DESCRIPTORS else None)

    assert len(pids) == 3
    assert Path(f"/proc/{server}/environ").read_bytes() == b""
    assert not [name for name in held if not name.startswith(("/dev/null", "socket:", "pipe:", "anon_inode:"))], held
    assert len(list(Path(f"/proc/{server}/task").iterdir())) == 1, "a fork copies one thread"
    assert "NoNewPrivs:\t1" in Path(f"/proc/{server}/status").read_text()


def descriptors_of(process):
    try:
        return [str(link.readlink()) for link in Path(f"/proc/{process}/fd").iterdir()]
    except FileNotFoundError:  # closed meanwhile
        return []


@linux
def test_a_server_that_is_killed_is_replaced_and_takes_its_children_with_it(run):
    first = run("parent")["parent"]
    pieces = confined.stream(program=PROGRAM, request={"do": "pour"})
    next(pieces)
    (child,) = children()

    os.kill(first, signal.SIGKILL)

    with pytest.raises(confined.CheckBroken, match="stopped"):
        for _ in pieces:
            pass
    wait_for(lambda: not alive(child))
    assert run("parent")["parent"] not in (first, os.getpid())


@linux
def test_after_a_crash_the_next_child_has_another_server(run):
    first = run("parent")["parent"]
    waiting = confined.stream(program=PROGRAM, request={"do": "pour", "pieces": 30})
    next(waiting)

    with pytest.raises(confined.TooExpensive, match="SIGSEGV"):
        run("crash")

    assert run("parent")["parent"] != first
    assert len(list(waiting)) == 29, "a check that runs is not disturbed"


def test_checks_of_several_threads_do_not_mix(run):
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda number: run("tell", text=str(number)), range(24)))

    assert [one["asked"] for one in told] == [str(number) for number in range(24)]
    assert len({one["pid"] for one in told}) == 24


@linux
def test_a_fork_of_the_parent_has_a_server_of_its_own(run):
    ours = run("parent")["parent"]
    receiving, sending = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.write(sending, str(run("parent")["parent"]).encode())
        finally:
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving) as file:
        theirs = int(file.read())
    os.waitpid(process, 0)

    assert theirs != ours
    assert run("parent")["parent"] == ours
    wait_for(lambda: not alive(theirs))


@linux
def test_a_child_has_the_limits_of_its_own_check_and_all_of_its_clock(run):
    small, large = (confined.Limits(seconds=seconds, memory_bytes=seconds * 64 * MIB) for seconds in (3, 9))

    told = [run("limits", limits) for limits in (small, large, small)]

    assert [(one["memory"], one["seconds"]) for one in told] == [
        (3 * 64 * MIB, 4),
        (9 * 64 * MIB, 10),
        (3 * 64 * MIB, 4),
    ]
    assert all(one["files"] == one["written"] == one["core"] == 0 for one in told)
    assert all(one["used"] < 1 for one in told)
    assert all(one["gains_no_rights"] for one in told)
