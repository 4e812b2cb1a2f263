"""Bytes that no client means to send: each piece gets a clear answer, and Larder keeps running and stays small.

Mutated zips go through upload, worker and sandboxed child. `make chaos` sends 10,000 pieces of every kind first.
"""

import asyncio
import os
import random
import time

import httpx
import pytest

from bench.trees import descendants, pss, rss
from tests.builders.archives import module_zip
from tests.chaos import report
from tests.chaos.garbage import NAMESPACE, Garbage, mutant
from tests.live import Live
from tests.site.processes import eventually

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]

IS_LONG = float(os.environ.get("CHAOS_SECONDS", "0")) >= 60
PIECES = 10_000 if IS_LONG else 40
BAR_MB = 50
MUTANTS = 200
# What the first ones cost is the code and the caches that the processes had not needed before.
WARM_UP = 80
AT_ONCE = 8
ENDED = ("published", "rejected")


def put_all(larder: Live, token: str, bodies: dict[int, bytes]) -> list[int]:
    async def everybody() -> list[int]:
        gate = asyncio.Semaphore(AT_ONCE)
        async with httpx.AsyncClient(
            base_url=larder.url, verify=larder.tls, timeout=60, headers={"Authorization": f"Bearer {token}"}
        ) as client:

            async def one(number: int, body: bytes) -> int:
                async with gate:
                    answer = await client.put(f"/api/v1/modules/mutants/zip/local/1.0.{number}", content=body)
                return answer.status_code

            return await asyncio.gather(*(one(number, body) for number, body in bodies.items()))

    return asyncio.run(everybody())


def test_garbage_is_answered_and_costs_a_larder_at_rest_no_memory(live):
    """It has published one module, no more: what it had not needed before counts as well."""
    token = live.token()
    with live.client(token) as client:
        client.put(f"/api/v1/namespaces/{NAMESPACE}", json={"visibility": "private"}).raise_for_status()
    assert live.publish(f"{NAMESPACE}/first/local", "1.0.0", module_zip(), token)["state"] == "published"
    there = set(descendants(live.process.pid))
    before, shared_before = rss(live.process.pid), pss(live.process.pid)
    publishing = live.token("admin", "publish", "--namespace", NAMESPACE)
    garbage = Garbage([int(live.host.rpartition(":")[2])], publishing, random.Random(20261128), live.tls)
    garbage.send(PIECES)
    wait_until_idle(live)
    grown = rss(live.process.pid) - before

    print(f"{PIECES} pieces of garbage: {sorted(garbage.answers.items())}")  # noqa: T201  # with -s
    print(f"RSS {grown:+.1f} MB, PSS {pss(live.process.pid) - shared_before:+.1f} MB")  # noqa: T201
    report.answered(garbage.answers)
    report.measured(memory=round(grown, 1))
    assert garbage.broken == []
    assert {202, 400, 404} <= set(garbage.answers)
    assert there <= set(descendants(live.process.pid)), "no process had to be replaced"
    assert grown < BAR_MB


@pytest.mark.nightly
def test_mutated_zips_meet_no_5xx_and_leave_nothing(live):
    token = live.token()
    with live.client(token) as client:
        client.put("/api/v1/namespaces/mutants", json={"visibility": "private"}).raise_for_status()
    dice = random.Random(20261121)
    good = module_zip()
    there = live.staged()
    processes = set(descendants(live.process.pid))
    mutants = {number: mutant(good, dice) for number in range(MUTANTS)}

    statuses = put_all(live, token, {number: mutants.pop(number) for number in range(WARM_UP)})
    wait_until_idle(live)
    memory = pss(live.process.pid)
    statuses += put_all(live, token, mutants)
    wait_until_idle(live)

    assert set(statuses) <= {202, 400, 422}, statuses
    states = live.manage("shell", "-v", "0", "-c", STATES).split()
    assert set(states) <= set(ENDED), set(states)
    assert len(states) == MUTANTS - sum(status != 202 for status in statuses)
    assert processes <= set(descendants(live.process.pid)), "no process had to be replaced"
    grown = pss(live.process.pid) - memory
    assert grown < 8, "3 when this was written"
    eventually(lambda: live.staged() <= there)


STATES = """
from apps.releases.models import Release
print(*Release.objects.filter(namespace__name="mutants").exclude(uploaded_digest="").values_list("state", flat=True))
"""
WAITING = "SELECT count(*) FROM jobs_job WHERE state IN ('queued', 'running')"


def wait_until_idle(larder: Live) -> None:
    deadline = time.monotonic() + 600
    while larder.query(WAITING):
        assert time.monotonic() < deadline, "the worker has not caught up in ten minutes"
        time.sleep(0.1)
