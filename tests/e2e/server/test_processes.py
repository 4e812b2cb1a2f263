"""The web process receives, a worker checks, and memory stays flat."""

import os
import random
from collections.abc import Iterator

import pytest

from bench.trees import Peak, pss
from tests.builders.archives import module_zip
from tests.site.processes import child

pytestmark = pytest.mark.live

STEP = 256 * 1024


def in_steps(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), STEP):
        yield data[start : start + STEP]


def test_another_process_than_the_one_that_received_computes_the_digest(live, shelf):
    live.publish("acme/who/local", "1.0.0", module_zip(), shelf.manage)

    code = (
        "from apps.releases.models import Release; provenance = Release.objects.get(name='who/local').provenance; "
        "print(provenance['received_by'], provenance['checked_by'])"
    )
    received_by, checked_by = live.manage("shell", "-v", "0", "-c", code).split()

    assert received_by != checked_by


def test_a_worker_gives_way_to_those_who_read(live):
    web, worker = child(live.process.pid, "web"), child(live.process.pid, "worker")
    assert web
    assert worker
    assert os.getpriority(os.PRIO_PROCESS, worker) > os.getpriority(os.PRIO_PROCESS, web)


@pytest.mark.parametrize("has_length", [True, False])
def test_sixty_megabytes_cost_less_than_forty_of_memory(live, shelf, has_length):
    size = 60 * 1024 * 1024
    data = module_zip({"main.tf": "locals {}\n", "data.bin": random.Random(size).randbytes(size)})
    version = f"1.0.{int(has_length)}"
    headers = {"Content-Length": str(len(data))} if has_length else {}
    # The first upload of a process loads what later ones share.
    live.publish("acme/large/local", f"0.0.{int(has_length)}", module_zip(), shelf.manage)
    before = pss(live.process.pid)

    with live.client(shelf.manage) as client, Peak(live.process.pid) as peak:
        answer = client.put(f"/api/v1/modules/acme/large/local/{version}", content=in_steps(data), headers=headers)
        assert answer.status_code == 202, answer.text
        ended = live.wait_for(client, f"/api/v1/releases/{answer.json()['id']}")

    assert ended["state"] == "published", ended
    assert ended["size"] == len(data)
    assert peak.peak - before < 40, f"{before:.0f} MB grew to {peak.peak:.0f} MB"
