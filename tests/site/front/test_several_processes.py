"""Several processes of one database, which know nothing of each other: none repeats what was before a change."""

import asyncio
import signal
import subprocess
import sys
from functools import partial
from threading import Event
from unittest.mock import AsyncMock

import httpx
import pytest

from apps.accounts.access.gate import Viewer
from apps.releases.lifecycle import verbs
from tests.builders.archives import module_zip
from tests.live import CHECKOUT, Live
from tests.postgres import free_port
from tests.site.front.asking import Process
from tests.site.front.test_changes import PUBLIC, ready
from tests.site.processes import eventually


@pytest.mark.both
def test_the_next_request_at_any_process_sees_a_change_and_who_made_it_waits_for_nothing(
    published, tofu, acme, dora, monkeypatch
):
    release = published("pantry/vpc/aws", "1.2.0")
    mine, other = Process(), Process()
    ready(other, tofu(None), PUBLIC)
    wait = AsyncMock()
    monkeypatch.setattr(asyncio, "sleep", wait)

    verbs.yank(release=release, actor=Viewer(dora), reason="broken")
    assert mine.run(mine.front.tell("POST", "/releases/1/yank", 303))
    wait.assert_not_called()

    assert b"1.2.0" not in other.ask(tofu(None), PUBLIC).body
    mine.end()
    other.end()


def test_a_question_that_was_under_way_when_a_request_came_does_not_count_for_it(process):
    """It may have begun before the change. All who come meanwhile have the next one together."""
    changes, started, go_on, read = process.front.changes, Event(), Event(), process.front.changes._read
    changes._is_at_hand, asked = False, []

    def slowly(since):
        asked.append(since)
        started.set()
        assert go_on.wait(10)
        return read(since)

    async def come():
        first = asyncio.ensure_future(changes.learn())
        assert await asyncio.to_thread(started.wait, 10)
        others = [asyncio.ensure_future(changes.learn()) for _ in range(5)]
        await asyncio.sleep(0.01)
        go_on.set()
        assert await first
        assert not any(one.done() for one in others)
        return [await one for one in others]

    changes._read = slowly
    assert process.run(come()) == [True] * 5
    assert len(asked) == 2


@pytest.mark.live
def test_a_second_web_process_that_was_started_by_hand_answers_nothing_stale(live: Live) -> None:
    port = free_port()
    environment = {**live.environment, "LARDER_LISTEN": f"127.0.0.1:{port}"}
    versions, token = "/v1/modules/peers/vpc/local/versions", live.token()
    with live.client(token) as first:
        first.put("/api/v1/namespaces/peers", json={"visibility": "public"}).raise_for_status()
        live.publish("peers/vpc/local", "1.0.0", module_zip(), token)
        process = subprocess.Popen(
            [sys.executable, "manage.py", "web"], cwd=CHECKOUT, env=environment, stderr=subprocess.DEVNULL
        )
        try:
            with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=live.tls) as second:
                eventually(partial(answers, second), what="the second one")
                for verb, is_listed in (("yank", False), ("restore", True), ("yank", False)):
                    for _ in range(3):
                        second.get(versions)  # ready
                    url = f"/api/v1/modules/peers/vpc/local/1.0.0/{verb}"
                    first.post(url, json={"reason": "a trial"}).raise_for_status()
                    assert ('"1.0.0"' in second.get(versions).text) is is_listed, verb
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/healthz").is_success
    except httpx.TransportError:
        return False
