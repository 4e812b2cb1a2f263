"""The search over everything in a large registry: the page, the palette and the API, for questions of all kinds.

`answers` runs inside a Larder (`manage.py shell`), with Django's test client: no network, no other process.
"""

import json
import time
from collections.abc import Iterator

from bench.larder import Bench
from bench.report import Figure

WANTED_MS = 60
# A module, the beginning of one, inputs, rare and common words, several, misspelled ones, none, hostile ones.
QUESTIONS = (
    *("module-4711", "module-47", "team7 module-47", "team7", "needle", "name", "network", "aws", "some", "n", "mod"),
    *(
        "network_keyset",
        "subset_logmap",
        "aws_network",
        "network aws tags",
        "team3 network",
        "networking",
        "keywork sub",
    ),
    *("provider-7", "neddle", "netwrok", "infrastructrue", "module-4711 netwrok", "nothing-like-it", "zzzz", "* OR ("),
)
PAGES = {
    "page": ("/search?q={}", {}),
    "palette": ("/search?q={}&palette=1", {"HX-Request": "true"}),
    "API": ("/api/v1/search?q={}", {}),
}


def measure(bench: Bench) -> Iterator[Figure]:
    live = bench.larder(is_seeded=True, tls=False)
    rounds = 1 if bench.is_tiny else 8
    said = live.manage("shell", "-v", "0", "-c", f"from bench import search; search.answers({rounds})")
    found: dict[str, dict[str, list[float]]] = json.loads(said.splitlines()[-1])
    for page, times in found.items():
        every = sorted(one for asked in times.values() for one in asked)
        yield Figure(
            f"search of everything, {page}: p95 of {len(times)} questions",
            [every[max(0, len(every) * 19 // 20 - 1)]],
            "ms",
            wanted=f"<= {WANTED_MS}",
            p50=[every[len(every) // 2]],
            note={question: max(asked) for question, asked in times.items()},
        )
        for question, asked in times.items():
            middle = sorted(asked)[len(asked) // 2]
            yield Figure(f"search, {page}: {question}", [middle], "ms", is_detail=middle <= WANTED_MS)


def answers(rounds: int) -> None:
    """Print the times of each question on each page, as JSON."""
    from urllib.parse import quote

    from django.conf import settings
    from django.test import Client

    from apps.accounts.models import User

    browser = Client()
    browser.force_login(User.objects.get(username="admin"))
    who = {"page": browser, "palette": browser, "API": Client()}
    found: dict[str, dict[str, list[float]]] = {page: {} for page in PAGES}
    for step in range(rounds + 1):
        for page, (path, headers) in PAGES.items():
            for question in QUESTIONS:
                started = time.perf_counter()
                url = path.format(quote(question))
                answer = who[page].get(url, headers={"Host": settings.PUBLIC_HOST, **headers}, secure=True)
                _ = answer.content
                took = 1e3 * (time.perf_counter() - started)
                assert answer.status_code == 200, (url, answer.status_code)
                if step:  # the first time fills caches
                    found[page].setdefault(question, []).append(took)
    print(json.dumps(found))
