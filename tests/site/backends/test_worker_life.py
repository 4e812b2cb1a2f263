"""No message in its queue ends a worker, and an unexpected end is not reported as success."""

import base64
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.builders.archives import module_zip
from tests.live import CHECKOUT, Live
from tests.site.processes import child, descendants, eventually

pytestmark = [pytest.mark.live, pytest.mark.python]


def worker_of(larder: Live) -> int:
    found = child(larder.process.pid, "worker")
    assert found is not None
    return found


def message(body: Any = ([], {}, {}), **changes: Any) -> bytes:
    """A task message as Celery writes it, with the changes."""
    properties = {
        "delivery_tag": "1",
        "body_encoding": "base64",
        "delivery_info": {"exchange": "", "routing_key": "check"},
    }
    whole = {
        "body": base64.b64encode(json.dumps(body).encode()).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"id": "1", "task": "jobs.reap"},
        "properties": properties,
    }
    return json.dumps(whole | changes).encode()


GARBAGE = {
    "empty": b"",
    "half": message()[:100],
    "bytes": b"\xff\xfe\x00",
    "number": b"7",
    "list": b"[]",
    "deep": b"[" * 100_000,
    "other": b"{}",
    "no-headers": message(headers={}),
    "no-id": message(headers={"task": "nobody.knows"}),
    "no-properties": message(properties={}),
    "no-base64": message(body_encoding="x", body="*"),
    "no-arguments": message(7),
    "pickle": message(**{"content-type": "application/x-python-serialize"}),
    "unknown-codec": message(properties={"delivery_tag": "1", "body_encoding": "rot13", "delivery_info": {}}),
    "unknown-task": message(headers={"id": "1", "task": "nobody.knows"}),
    "unknown-arguments": message(([1, 2], {"x": 1}, {})),
    "large": b" " * (2 * 1024 * 1024),
}


def litter(folder: Path) -> None:
    """First in the order of names, so that the next publish waits behind all of it."""
    for number in range(3):  # more than a worker takes at once: none of them may keep its place
        for name, data in GARBAGE.items():
            own_tag = data.replace(b'"delivery_tag": "1"', b'"delivery_tag": "%d"' % number)
            (folder / f"0_{name}_{number}.check.msg").write_bytes(own_tag)
    (folder / "0_folder.check.msg" / "below").mkdir(parents=True)
    os.mkfifo(folder / "0_pipe.check.msg")
    (folder / "0_link.check.msg").symlink_to("/dev/zero")
    (folder / "0_dangling.check.msg").symlink_to("nowhere")
    Path(os.fsdecode(bytes(folder) + b"/0_\xff.check.msg")).write_bytes(b"")


def test_no_file_in_its_queue_stops_a_worker(impatient: Live) -> None:
    before, folder = worker_of(impatient), impatient.data_dir / "queue" / "messages"
    litter(folder)
    published = impatient.publish("demo/littered/aws", "1.0.0", module_zip(), impatient.token())
    assert published["state"] == "published"
    assert worker_of(impatient) == before
    # What cannot be removed stays and is said once.
    eventually(lambda: [path.name for path in folder.glob("0_*")] == ["0_folder.check.msg"])
    said = impatient.output.read_text()
    assert said.count("queue_file_stuck") == 1
    for name in ("empty_0", "half_1", "pickle_2", "large_0", "pipe", "link"):
        assert f'"file": "0_{name}.check.msg"' in said
    shutil.rmtree(folder / "0_folder.check.msg")


def test_without_its_folder_a_worker_waits_and_an_upload_is_accepted(impatient: Live) -> None:
    before, folder = worker_of(impatient), impatient.data_dir / "queue" / "messages"
    away = folder.with_name("away")
    folder.rename(away)
    folder.touch()
    with impatient.client(impatient.token()) as client:  # commands work without it, too
        eventually(lambda: client.get("/readyz").json()["parts"]["broker"] != "ok")
        answer = client.put("/api/v1/modules/demo/waiting/aws/1.0.0", content=module_zip())
        assert answer.status_code == 202, answer.text
        folder.unlink()
        away.rename(folder)
        document = impatient.wait_for(client, f"/api/v1/releases/{answer.json()['id']}")
    assert document["state"] == "published"
    assert worker_of(impatient) == before


@contextmanager
def second_worker(impatient: Live) -> Iterator["subprocess.Popen[bytes]"]:
    """One with a clock that has said that it is ready."""
    with impatient.start_worker("--beat", stderr=subprocess.PIPE) as worker:
        assert worker.stderr is not None
        assert any(b"ready." in line for line in worker.stderr)
        yield worker


def test_a_worker_that_is_asked_to_stop_exits_with_0(impatient: Live) -> None:
    with second_worker(impatient) as worker:
        worker.terminate()
        assert worker.wait(timeout=30) == 0


def test_a_worker_that_ends_by_itself_does_not_exit_with_0(impatient: Live) -> None:
    with second_worker(impatient) as worker:
        resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, (4, 4))  # it can open its queue no more
        assert worker.wait(timeout=30) == 1


def has_logged_end(impatient: Live, name: str) -> bool:
    lines = [line for line in impatient.output.read_text().splitlines() if '"child_ended"' in line]
    return any(f'"child": "{name}", "status": 1,' in line for line in lines)


def test_a_web_server_that_ends_by_itself_does_not_exit_with_0(impatient: Live) -> None:
    web = child(impatient.process.pid, "web")
    assert web is not None

    def has_ended() -> bool:
        # granian starts a process again once; one that dies soon after is a crash loop.
        for pid in descendants(web):
            os.kill(pid, signal.SIGKILL)
        return has_logged_end(impatient, "web")

    eventually(has_ended)


@pytest.mark.parametrize("process", [["beat"], ["worker", "--beat"]], ids=" ".join)
def test_a_clock_that_ends_by_itself_ends_its_process_with_1(
    tmp_path: Path, impatient: Live, process: list[str]
) -> None:
    """A worker without its clock would ring for no lost job: it ends, and `up` starts it again."""
    for suffix in ("", ".db", ".dat", ".dir", ".bak"):  # whichever files its schedule has here
        (tmp_path / f"beat-schedule{suffix}" / "in-the-way").mkdir(parents=True)
    shutil.copy(impatient.data_dir / "secret_key", tmp_path)
    database = {"LARDER_DATABASE_URL": f"sqlite:///{impatient.data_dir / 'db.sqlite3'}"}
    done = subprocess.run(
        [sys.executable, "manage.py", *process],
        cwd=CHECKOUT,
        env=impatient.environment | database | {"LARDER_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert ("clock_ended" in done.stderr) == (process[0] == "worker"), done.stderr
