"""Downloads through real processes: a clean stop loses none, a kill at most what the last seconds brought."""

import contextlib
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.live import Live, wait_until_ready
from tests.site.processes import child, descendants, eventually, parents

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

URL = "/v1/modules/demo/hello/local/1.0.0/download"
OURS = {"User-Agent": "OpenTofu/1.12.6"}
CLIENTS = 6
COUNTED = "SELECT COALESCE(SUM(count), 0) FROM releases_downloadcount WHERE client = 'OpenTofu 1.12.6'"


def fetch(larder: Live, times: int) -> int:
    """Fetch with as many clients at once; each connection may reach another process. Answers how many succeeded."""

    def one(share: int) -> int:
        answered = 0
        for _ in range(share):
            with contextlib.suppress(httpx.TransportError), larder.client() as client:
                answered += client.get(URL, headers=OURS).status_code == 200
        return answered

    with ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(one, [times // CLIENTS] * CLIENTS))


def counted(larder: Live) -> int:
    return int(larder.query(COUNTED))


def web_of(larder: Live) -> int:
    """The process of `manage.py web`, whose children answer requests."""
    eventually(lambda: child(larder.process.pid, "web"))
    return child(larder.process.pid, "web") or 0


def web_processes(larder: Live) -> set[int]:
    return descendants(web_of(larder))


def test_a_kill_loses_only_what_was_not_yet_written_and_a_clean_stop_nothing(four_processes):
    larder = four_processes
    eventually(lambda: len(web_processes(larder)) == 4)
    written = fetch(larder, 120)
    assert written > 60
    eventually(lambda: counted(larder) >= written, seconds=60)
    fetch(larder, 30)
    for pid in web_processes(larder):
        os.kill(pid, signal.SIGKILL)
    wait_until_ready(larder)
    after_kill = counted(larder)
    assert written <= after_kill <= 120 + 30
    # Within the last five seconds' worth: most of it is still in memory. A busy machine may refuse some, and lose the
    # answer of one that counts.
    eventually(lambda: len(web_processes(larder)) == 4)
    answered = fetch(larder, 120)
    assert answered > 60
    everyone = {web_of(larder)} | web_processes(larder)
    os.kill(web_of(larder), signal.SIGTERM)
    eventually(lambda: not everyone & parents().keys())
    assert after_kill + answered <= counted(larder) <= after_kill + 120
    wait_until_ready(larder)
