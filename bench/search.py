"""The search over everything in a large registry: page, palette and API, for questions and people of all kinds.

`answers` runs inside a Larder (`manage.py shell`), with Django's test client: no network, no other process. It counts
processor time, of this process and of a PostgreSQL on this machine, since a busy machine makes every wall time long.
"""

import json
import time
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from typing import Any

from bench.larder import Bench
from bench.processor import Processor
from bench.report import Figure

WANTED_MS = 60
# By kind. `{n}` is another number each time.
QUESTIONS = {
    "exact name": ("module-{n}", "provider-{n}", "team7/module-{n}/aws", "network_keyset"),
    "beginning": ("mod", "module-{n:.2}", "net", "n", "aws_net", "team"),
    "everywhere": ("name", "network", "some", "aws", "subset", "infrastructure"),
    "several": ("network aws tags", "some infrastructure", "team3 network", "network_keyset rolemap", "name tags some"),
    "name and common": ("team7 module-{n}", "module-{n} network", "aws_network logmap"),
    "rare": ("needle", "subset_logmap_network", "networking", "keywork sub"),
    "misspelled": ("neddle", "netwrok", "infrastructrue", "modul-{n}", "module-{n} netwrok", "keywokr logmpa"),
    "no match": ("nothing-like-it", "zzzz", "qqqqqq wwwwww", "network zzzz", "* OR ("),
}
# The request with its headers, and who sends it.
ASKED = {
    "page, a stranger": ("/search?q={}", {}, "stranger"),
    "page, a member": ("/search?q={}", {}, "member"),
    "page, an administrator": ("/search?q={}", {}, "admin"),
    "palette, a member": ("/search?q={}&palette=1", {"HX-Request": "true"}, "member"),
    "API, a stranger": ("/api/v1/search?q={}", {}, "stranger"),
    "API, a member": ("/api/v1/search?q={}", {}, "token"),
    "API, one group": ("/api/v1/search?q={}&in=inputs", {}, "token"),
}


def measure(bench: Bench) -> Iterator[Figure]:
    live = bench.larder(is_seeded=True, tls=False)
    rounds, each = (1, 1) if bench.is_tiny else (8, None)
    said = live.manage("shell", "-v", "0", "-c", f"from bench import search; search.answers({rounds}, {each})")
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(said.splitlines()[-1])
    for asked, questions in found.items():
        processor = sorted(one for figures in questions.values() for one in figures["processor"])
        waited = sorted(one for figures in questions.values() for one in figures["wall"])
        yield Figure(
            f"search, {asked}: p95 of the processor time of {len(questions)} questions",
            [_p95(processor)],
            "ms",
            wanted=f"<= {WANTED_MS}",
            p50=[waited[len(waited) // 2]],
            p99=[waited[max(0, len(waited) * 99 // 100 - 1)]],
            cpu=[processor[len(processor) // 2]],
            note={"wall p95": _p95(waited), "queries": max(figures["queries"] for figures in questions.values())},
        )
        for question, figures in questions.items():
            middle = sorted(figures["processor"])[len(figures["processor"]) // 2]
            work = f"search, {asked}: {question}" + "".join(f", reads all of {scan}" for scan in figures["scans"])
            is_well = middle <= WANTED_MS and not figures["scans"]
            yield Figure(work, [middle], "ms", note=figures, is_detail=is_well)


def _p95(ranked: list[float]) -> float:
    return ranked[max(0, len(ranked) * 19 // 20 - 1)]


def answers(rounds: int, each: int | None) -> None:
    """Print what each question costs each time, by who asks where, as JSON: times in ms, queries, whole tables read.

    `each` is how many questions of a kind are asked, None for all.
    """
    from urllib.parse import quote

    from django.conf import settings
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from apps.accounts.access.gate import Viewer
    from apps.accounts.identity import tokens
    from apps.accounts.models import Scope, User
    from apps.releases.catalogue.search import indexes_in_memory
    from bench import lists, seeding

    seeding.add_member()
    who = {name: Client() for name in ("stranger", "member", "admin")}
    for name in ("member", "admin"):
        who[name].force_login(User.objects.get(username=name))
    member = User.objects.get(username="member")
    token, secret = tokens.issue(user=member, label="bench", scope=Scope.READ, actor=Viewer(member))
    who["token"] = Client(headers={"Authorization": f"Bearer {secret}"})
    large, read = lists.large_tables(), Processor()
    found: dict[str, dict[str, dict[str, Any]]] = {asked: {} for asked in ASKED}
    for step in range(rounds + 1):
        for asked, (path, headers, name) in ASKED.items():
            for question in chain.from_iterable(kind[:each] for kind in QUESTIONS.values()):
                url = path.format(quote(question.format(n=str(4711 + 13 * step))))
                sent = {"Host": settings.PUBLIC_HOST, **headers}
                if step == 0:  # fills caches; its queries are counted and their plans read
                    connection.queries_log.clear()
                    with CaptureQueriesContext(connection) as captured:
                        answer = who[name].get(url, headers=sent, secure=True)
                    scans: set[str] = set()
                    for sql in (one["sql"] for one in captured.captured_queries):
                        with indexes_in_memory() if "searchgram" in sql else nullcontext():  # as the search asked it
                            scans |= set(lists.scans(sql, large))
                    figures = {"queries": len(captured.captured_queries), "scans": sorted(scans)}
                    found[asked][question] = {**figures, "processor": [], "wall": []}
                else:
                    began, spent = time.perf_counter(), read.milliseconds()
                    answer = who[name].get(url, headers=sent, secure=True)
                    found[asked][question]["wall"].append(1e3 * (time.perf_counter() - began))
                    found[asked][question]["processor"].append(read.milliseconds() - spent)
                assert answer.status_code == 200, (url, answer.status_code)
    token.delete()
    print(json.dumps(found))
