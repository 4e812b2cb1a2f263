"""Downloads through real processes: a clean stop loses none, a kill at most what the last seconds brought."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests import postgres
from tests.live import Live, start_live, wait_until_ready

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

URL = "/v1/modules/demo/hello/local/1.0.0/download"
OURS = {"User-Agent": "OpenTofu/1.12.6"}
CLIENTS = 6


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> dict[str, str]:
    if request.param == "sqlite":
        return {}
    if postgres.programs() is None:
        pytest.skip(postgres.MISSING)
    return {"LARDER_DATABASE_URL": postgres.start()}


def fetch(larder: Live, times: int) -> int:
    """As many clients as that ask at once; each connection may reach another process. Answers how many succeeded."""

    def one(share: int) -> int:
        answered = 0
        for _ in range(share):
            with contextlib.suppress(httpx.TransportError), larder.client() as client:
                answered += client.get(URL, headers=OURS).status_code == 200
        return answered

    with ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(one, [times // CLIENTS] * CLIENTS))


def counted(larder: Live) -> int:
    code = (
        "from django.db.models import Sum; from apps.releases.models import DownloadCount; "
        "print(DownloadCount.objects.filter(client='OpenTofu 1.12.6').aggregate(n=Sum('count'))['n'] or 0)"
    )
    return int(larder.manage("shell", "-v", "0", "-c", code).split()[-1])


def stop(larder: Live) -> None:
    larder.process.send_signal(signal.SIGTERM)
    assert larder.process.wait(timeout=30) == 0, larder.output.read_text()[-2000:]


def web_processes(larder: Live) -> list[int]:
    """The children of `manage.py web`, which answer requests."""
    parents = {int(path.name): path for path in Path("/proc").iterdir() if path.name.isdigit()}

    def children(of: int) -> Iterator[int]:
        for pid, path in parents.items():
            with contextlib.suppress(OSError):
                stat = (path / "stat").read_text().rpartition(") ")[2].split()
                if int(stat[1]) == of and stat[0] != "Z":
                    yield pid

    def command(pid: int) -> str:
        return (parents[pid] / "cmdline").read_text().replace("\0", " ")

    web = next(pid for pid in children(larder.process.pid) if " web " in command(pid))
    return [pid for pid in children(web) if "resource_tracker" not in command(pid)]


def test_a_clean_stop_loses_no_download(tmp_path, database):
    with start_live(tmp_path, LARDER_WEB_PROCESSES="3", **database) as larder:
        assert len(web_processes(larder)) == 3
        assert fetch(larder, 300) == 300
        # Within the last five seconds' worth: most of it is still in memory.
        stop(larder)
        assert counted(larder) == 300


def test_a_kill_loses_at_most_what_was_not_yet_written(tmp_path, database):
    with start_live(tmp_path, LARDER_WEB_PROCESSES="2", **database) as larder:
        assert fetch(larder, 120) == 120
        deadline = time.monotonic() + 60
        while counted(larder) < 120:
            assert time.monotonic() < deadline, "it is not written within a minute"
        answered = fetch(larder, 30)
        for pid in web_processes(larder):
            os.kill(pid, signal.SIGKILL)
        wait_until_ready(larder)
        assert 120 <= counted(larder) <= 120 + answered
        again = fetch(larder, 30)
        before = counted(larder)
        stop(larder)
        assert before <= counted(larder) <= 120 + answered + again
        assert counted(larder) >= 120 + again
