"""Pages of a person beside 300 machine clients, against the same pages without them.

The machines ask as fast as they are answered: version lists, downloads and lists of the API, of which nine in ten are
no ready answers, so that Django always has more to do than it can. The person goes from page to page, signed in.
"""

import re
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import httpx

from bench import load
from bench.larder import Bench, server_of
from bench.report import Figure
from tests.builders.archives import module_zip
from tests.live import ADMIN_PASSWORD, Live

MACHINES = 300
SECONDS = 20.0
THINK_SECONDS = 0.02
MODULE = "bench-people/first/local"
PAGES = ("/", "/modules", f"/modules/{MODULE}", "/namespaces/bench-people", "/tokens")
# wrk calls it for each request.
MIXED = f"""
local number = 0
local paths = {{"/v1/modules/{MODULE}/versions?n=", "/v1/modules/{MODULE}/1.0.0/download?n=", "/api/v1/modules"}}
request = function()
  number = number + 1
  if number % 10 == 0 then
    return wrk.format("GET", "/v1/modules/{MODULE}/versions")
  end
  return wrk.format("GET", paths[number % 3 + 1] .. (number % 3 < 2 and number or ""))
end
"""


def measure(bench: Bench) -> Iterator[Figure]:
    if bench.lacks("people", "wrk"):
        return
    live = bench.larder(is_seeded=False, tls=False)
    token = bench.token(live)
    with live.client(token) as client:
        client.put("/api/v1/namespaces/bench-people", json={"visibility": "private"}).raise_for_status()
    live.publish(MODULE, "1.0.0", module_zip(), token)
    machines, seconds = (10, 1.0) if bench.is_tiny else (MACHINES, SECONDS)
    quiet: list[list[float]] = []
    beside: list[list[float]] = []
    rates: list[float] = []
    with live.client(follow_redirects=True) as person, ThreadPoolExecutor(1) as pool:
        _sign_in(live, person)
        _pages(person, 2 * seconds / 10)
        for _ in range(bench.rounds):
            quiet.append(_pages(person, seconds))
            headers = {"Authorization": f"Bearer {token}"}
            running = pool.submit(
                load.drive, server_of(live), "/", connections=machines, seconds=seconds + 4, headers=headers, lua=MIXED
            )
            time.sleep(2)  # all of them are there
            beside.append(_pages(person, seconds))
            rates.append(running.result().rate)
    yield Figure(
        f"p95 of a person's pages beside {machines} machine clients",
        [*map(p95, beside)],
        "ms",
        [*map(p95, quiet)],
        "without them",
        "<= 3",
        [statistics.median(one) for one in beside],
        note={"machines' requests a second": rates, "pages": [len(one) for one in beside]},
    )


def p95(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=20)[-1] if len(taken) > 1 else taken[0]


def _pages(person: httpx.Client, seconds: float) -> list[float]:
    """Milliseconds of each page, one after the other."""
    taken: list[float] = []
    until = time.perf_counter() + seconds
    for path in cycle(PAGES):
        began = time.perf_counter()
        if began >= until and taken:
            return taken
        person.get(path, timeout=120).raise_for_status()
        taken.append(1000 * (time.perf_counter() - began))
        threading.Event().wait(THINK_SECONDS)
    raise AssertionError("there are pages")


def _sign_in(live: Live, person: httpx.Client) -> None:
    page = person.get("/account/login/")
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert found, page.text[:500]
    form = {"login": "admin", "password": ADMIN_PASSWORD, "csrfmiddlewaretoken": found[1]}
    headers = {"Origin": live.url, "Referer": str(page.url)}
    signed_in = person.post(str(page.url), data=form, headers=headers).raise_for_status()
    assert "/account/login/" not in str(signed_in.url)
