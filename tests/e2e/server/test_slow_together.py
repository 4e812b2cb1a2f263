"""Slow clients that reach their time-out together take no thread from others, and leave nothing."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.builders.archives import module_zip
from tests.e2e.server import slow_clients
from tests.e2e.server.slow_clients import hang
from tests.live import Live, start_live
from tests.site.processes import child, descendants, eventually

pytestmark = [pytest.mark.live, pytest.mark.nightly, pytest.mark.embedded("counts the threads of its one web process")]

SLOW = 6  # of each kind
TIMEOUT = 3
# Those whose request Django refuses once its body has not come.
KINDS = (
    "form",
    "form over HTTP/2",
    "form with a length over HTTP/2",
    "refused",
    "refused over HTTP/2",
    "refused with a length over HTTP/2",
    "upload",
    "upload over HTTP/2",
)


@pytest.fixture(scope="module")
def larder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with start_live(
        tmp_path_factory.mktemp("together"), why="its threads are counted", LARDER_CLIENT_TIMEOUT_SECONDS=str(TIMEOUT)
    ) as larder:
        yield larder


def threads(larder: Live) -> int:
    """Return how many threads its one web process has. The pools make a thread once no other of theirs is free."""
    web = child(larder.process.pid, "web")
    assert web
    (serving,) = descendants(web)
    return len(list(Path(f"/proc/{serving}/task").iterdir()))


def releases(larder: Live) -> int:
    return int(larder.query("SELECT count(*) FROM releases_release"))


def test_requests_whose_body_did_not_come_are_refused_by_one_thread_and_reserve_nothing(larder: Live) -> None:
    token = larder.token()
    kinds = slow_clients.kinds(larder.url, token, SLOW)
    assert larder.publish("demo/first/local", "1.0.0", module_zip(), token)["state"] == "published"
    with hang(larder.url, kinds["form"][0], 1) as first:
        eventually(lambda: first.cut)  # from here on the thread that refuses is there

    before, reserved = threads(larder), releases(larder)
    with ExitStack() as stack:
        slow = [stack.enter_context(hang(larder.url, kinds[kind][0], SLOW)) for kind in KINDS]
        eventually(lambda: all(one.cut >= SLOW for one in slow), seconds=90)
        after = threads(larder)
    assert after - before < 4, f"{before} threads became {after} for {SLOW * len(KINDS)} slow clients"
    assert releases(larder) == reserved
