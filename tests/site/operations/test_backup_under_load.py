"""A backup under load on PostgreSQL: what was acknowledged before it is published after a restore, or can go on."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests import dumps, postgres
from tests.builders.archives import module_zip
from tests.live import CHECKOUT, Live, environment_of, start_live

pytestmark = [pytest.mark.live, pytest.mark.nightly]
HALF = module_zip(comment=b"in two halves")
PATCH = {"Content-Type": "application/offset+octet-stream"}


@contextmanager
def publishing(larder: Live, token: str) -> Iterator[list[str]]:
    """Four people who publish at a pace without waiting for the end; yields the versions answered with 202."""
    over, acknowledged = threading.Event(), []

    def publish(person: int) -> None:
        with larder.client(token) as client:
            for number in range(1, 1000):
                if over.wait(0.25):
                    return
                version = f"{person}.0.{number}"
                answer = client.put(
                    f"/api/v1/modules/saved/vpc/aws/{version}", content=module_zip(comment=version.encode())
                )
                if answer.status_code == 202:
                    acknowledged.append(version)

    people = [threading.Thread(target=publish, args=(person,)) for person in range(1, 5)]
    for one in people:
        one.start()
    try:
        yield acknowledged
    finally:
        over.set()
        for one in people:
            one.join()


def wait_for(acknowledged: list[str], count: int) -> list[str]:
    deadline = time.monotonic() + 60
    while len(acknowledged) < count:
        assert time.monotonic() < deadline, acknowledged
        time.sleep(0.05)
    return list(acknowledged)


def manage(data_dir: Path, url: str, *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    environment = environment_of(data_dir, 1, LARDER_DATABASE_URL=url, LARDER_LOG_LEVEL="ERROR")
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def send(client: httpx.Client, upload: str, start: int, end: int) -> httpx.Response:
    return client.patch(upload, content=HALF[start:end], headers={**PATCH, "Upload-Offset": str(start)})


@pytest.mark.needs("postgres")
def test_what_was_received_before_the_backup_ends_as_published(tmp_path):
    first, second = postgres.Server(), postgres.Server()
    with start_live(
        tmp_path / "first",
        why="its whole database is backed up and restored",
        LARDER_DATABASE_URL=dumps.fill(first.url),
        LARDER_RATES="publish=off",
    ) as larder:
        token = larder.token()
        with larder.client(token) as client:
            client.put("/api/v1/namespaces/saved", json={"visibility": "private"})
            begun = client.post(
                "/api/v1/modules/saved/half/aws/1.0.0/uploads", headers={"Upload-Length": str(len(HALF))}
            )
            half = len(HALF) // 2
            assert send(client, begun.headers["Location"], 0, half).status_code == 204
        with publishing(larder, token) as acknowledged:
            before = wait_for(acknowledged, 12)
            larder.manage("backup", str(tmp_path / "backup"), "--keys", str(tmp_path / "keys"))
            wait_for(acknowledged, len(acknowledged) + 1)  # it went on meanwhile

    data_dir = tmp_path / "second" / "data"
    restored = manage(data_dir, second.url, "restore", str(tmp_path / "backup"), "--keys", str(tmp_path / "keys"))
    assert ": 0 damaged." in restored
    manage(data_dir, second.url, "restored", "--accept-tokens")
    with start_live(tmp_path / "second", why="it was restored", LARDER_DATABASE_URL=second.url) as larder:
        with larder.client(token) as client:
            for version in before:
                document = larder.wait_for(client, f"/api/v1/modules/saved/vpc/aws/{version}")
                assert document["state"] == "published", document
            assert client.head(begun.headers["Location"]).headers["Upload-Offset"] == str(half)
            assert send(client, begun.headers["Location"], half, len(HALF)).status_code == 204
            assert larder.wait_for(client, "/api/v1/modules/saved/half/aws/1.0.0")["state"] == "published"
        assert ": 0 damaged." in larder.manage("verify")
