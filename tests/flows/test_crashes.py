"""A worker killed before and after every step, as the pipeline itself names them: the release ends by itself."""

import os
import signal
import time
from pathlib import Path

import httpx
import pytest

from apps.modules.publishing import STEPS
from apps.releases.pipeline import points
from tests.builders.archives import module_zip
from tests.live import Live, start_live

pytestmark = [pytest.mark.live, pytest.mark.once]

POINTS = points(STEPS)
# The demo module is 1.0.0: the faults wait for versions of their own.


def namespace(larder: Live) -> str:
    token = larder.token()
    with larder.client(token) as client:
        client.put("/api/v1/namespaces/acme", json={"visibility": "private"}).raise_for_status()
    return token


def staged(larder: Live) -> list[Path]:
    return [path for path in (larder.data_dir / "blobs" / "staging").rglob("*") if path.is_file()]


@pytest.mark.timeout(600)
def test_killed_at_every_point_the_release_is_published_once_and_nothing_is_left(tmp_path):
    versions = {f"7.0.{number}": point for number, point in enumerate(POINTS)}
    plan = ",".join(f"{point}@{version}" for version, point in versions.items())
    # A short lease keeps the test short; each kill also hits whatever else the worker does, hence the attempts.
    with start_live(tmp_path, LARDER_CRASH_AT=plan, LARDER_JOB_LEASE_SECONDS="5", LARDER_JOB_ATTEMPTS="60") as larder:
        token = namespace(larder)
        for version in versions:
            document = larder.publish("acme/vpc/aws", version, module_zip(comment=version.encode()), token)
            assert document["state"] == "published", document
            assert document["attempt"] >= 1
        with larder.client(token) as client:
            listed = client.get("/v1/modules/acme/vpc/aws/versions").json()["modules"][0]["versions"]
        assert len(listed) == len(POINTS)
        killed = {path.name for path in larder.data_dir.glob("crashed-*")}
        assert len(killed) == len(POINTS), "every point was reached and killed its worker"
        deadline = time.monotonic() + 60
        while staged(larder) and time.monotonic() < deadline:
            time.sleep(0.5)
        assert staged(larder) == []


@pytest.mark.timeout(300)
def test_with_the_settings_of_every_day_it_ends_within_90_seconds(tmp_path):
    with start_live(tmp_path, LARDER_CRASH_AT="before:store_archive@7.0.0") as larder:
        token = namespace(larder)
        started = time.monotonic()
        document = larder.publish("acme/vpc/aws", "7.0.0", module_zip(), token)
    assert document["state"] == "published"
    assert document["attempt"] == 2
    assert time.monotonic() - started < 90


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("point", "ends"), [("after:reserve", "rejected"), ("after:receive", "rejected"), ("after:accept", "published")]
)
def test_a_web_process_killed_while_it_receives_leaves_no_stuck_version(tmp_path, point, ends):
    with start_live(tmp_path, LARDER_CRASH_AT=f"{point}@7.0.0", LARDER_JOB_LEASE_SECONDS="5") as larder:
        token = namespace(larder)
        path = "/api/v1/modules/acme/vpc/aws/7.0.0"
        with larder.client(token) as client, pytest.raises(httpx.TransportError):
            client.put(path, content=module_zip())
        document = wait_for_end(larder, token, path)
        assert document["state"] == ends
        again = larder.publish("acme/vpc/aws", "7.0.0", module_zip(), token)
        assert again["state"] == "published"


def wait_for_end(larder: Live, token: str, path: str) -> dict:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        try:
            with larder.client(token) as client:
                answer = client.get(path)
                if answer.status_code == 200 and answer.json()["state"] in ("published", "rejected"):
                    return answer.json()
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise AssertionError("still not ended after 90 s")


@pytest.mark.timeout(300)
def test_a_worker_that_slept_through_its_lease_loses_at_the_fence(tmp_path):
    with start_live(tmp_path, LARDER_CRASH_AT="stop:before:enter_ledger@7.0.0", LARDER_JOB_LEASE_SECONDS="5") as larder:
        token = namespace(larder)
        with larder.client(token) as client:
            document = client.put("/api/v1/modules/acme/vpc/aws/7.0.0", content=module_zip()).json()
            sleeper = wait_for_sleeper(larder)
            # A second worker takes over; the sleeping one still believes that the release is its own.
            other = larder.start_worker()
            try:
                ended = larder.wait_for(client, f"/api/v1/releases/{document['id']}")
                os.kill(sleeper, signal.SIGCONT)
                time.sleep(3)
                after = client.get(f"/api/v1/releases/{document['id']}").json()
            finally:
                other.terminate()
                other.wait(timeout=20)
    assert ended["state"] == "published"
    assert {**after, "attempt": 0} == {**ended, "attempt": 0}, "the sleeper changed nothing"


def wait_for_sleeper(larder: Live) -> int:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for line in larder.output.read_text().splitlines():
            if '"fault"' in line:
                return int(line.partition('"pid": ')[2].split(",")[0].rstrip("}"))
        time.sleep(0.2)
    raise AssertionError("no worker stopped")


@pytest.mark.timeout(300)
def test_a_broker_that_is_away_for_a_minute_costs_no_upload(tmp_path):
    with start_live(tmp_path, LARDER_JOB_LEASE_SECONDS="5") as larder:
        token = namespace(larder)
        messages = larder.data_dir / "queue" / "messages"
        away = messages.rename(messages.with_name("away"))
        messages.write_text("not a folder: every ring fails")
        with larder.client(token) as client:
            answers = [
                client.put(f"/api/v1/modules/acme/vpc/aws/1.0.{number}", content=module_zip(comment=b"%d" % number))
                for number in range(3)
            ]
            assert [answer.status_code for answer in answers] == [202] * 3
            time.sleep(60)
            messages.unlink()
            away.rename(messages)
            ended = [larder.wait_for(client, f"/api/v1/releases/{answer.json()['id']}") for answer in answers]
    assert [document["state"] for document in ended] == ["published"] * 3
