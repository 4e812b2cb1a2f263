"""Mutated zips through upload, worker and sandboxed child: each gets a clear answer, and Larder keeps running."""

import asyncio
import random
import time

import httpx
import pytest

from bench.trees import descendants, pss
from tests.builders.archives import module_zip
from tests.live import Live
from tests.site.processes import eventually

pytestmark = pytest.mark.live

MUTANTS = 200
# What the first ones cost is the code and the caches that the processes had not needed before.
WARM_UP = 80
AT_ONCE = 8
ENDED = ("published", "rejected")


def mutant(data: bytes, dice: random.Random) -> bytes:
    """A few bytes changed, a piece cut out, doubled, or the end lost."""
    broken = bytearray(data)
    for _ in range(dice.randint(1, 6)):
        position = dice.randrange(max(len(broken), 1))
        match dice.randrange(4):
            case 0:
                broken[position : position + 1] = [dice.randrange(256)]
            case 1:
                del broken[position : position + dice.randint(1, 40)]
            case 2:
                broken[position:position] = broken[position : position + dice.randint(1, 40)]
            case 3:
                del broken[max(position, 1) :]
    return bytes(broken)


def put_all(larder: Live, token: str, bodies: dict[int, bytes]) -> list[int]:
    async def everybody() -> list[int]:
        gate = asyncio.Semaphore(AT_ONCE)
        async with httpx.AsyncClient(
            base_url=larder.url, verify=larder.tls, timeout=60, headers={"Authorization": f"Bearer {token}"}
        ) as client:

            async def one(number: int, body: bytes) -> int:
                async with gate:
                    answer = await client.put(f"/api/v1/modules/garbage/zip/local/1.0.{number}", content=body)
                return answer.status_code

            return await asyncio.gather(*(one(number, body) for number, body in bodies.items()))

    return asyncio.run(everybody())


def test_mutated_zips_meet_no_5xx_and_leave_nothing(live):
    token = live.token()
    with live.client(token) as client:
        client.put("/api/v1/namespaces/garbage", json={"visibility": "private"}).raise_for_status()
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
print(*Release.objects.filter(namespace__name="garbage").exclude(uploaded_digest="").values_list("state", flat=True))
"""
WAITING = "SELECT count(*) FROM jobs_job WHERE state IN ('queued', 'running')"


def wait_until_idle(larder: Live) -> None:
    deadline = time.monotonic() + 600
    while larder.query(WAITING):
        assert time.monotonic() < deadline, "the worker has not caught up in ten minutes"
        time.sleep(0.1)
