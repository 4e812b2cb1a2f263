"""Measure whether answers tell by their time what they hide: `python -m bench.timing`, some minutes.

Each pair of requests is sent in turn, in random order, to Django in this process: without a network, whose noise would
hide more. Prints the quartiles of both, and a rank test (Mann and Whitney): `ahead` is how often the first one takes
longer, 50 % if the time says nothing. With 2,000 requests each, 48 to 52 % is chance (95 %).
"""

import argparse
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")  # noqa: TID251  # before Django is loaded

import django

django.setup()

from django.contrib.auth.hashers import make_password  # noqa: E402
from django.db import transaction  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import get_runner, override_settings, setup_test_environment  # noqa: E402

from apps.accounts.access.gate import Viewer  # noqa: E402
from apps.accounts.identity import tokens  # noqa: E402
from apps.accounts.models import Scope, User  # noqa: E402
from tests.cast import person  # noqa: E402
from tests.house import scenario  # noqa: E402

ARGON2 = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
Send = Callable[[], Any]


@dataclass(frozen=True)
class Pair:
    """Two requests that must be alike; `slow` ones are sent less often."""

    what: str
    first: Send
    second: Send
    status: int
    slow: bool = False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000, help="of each kind")
    parser.add_argument("--slow", type=int, default=300, help="of pages, which take longer")
    parser.add_argument("--only", default="", help="pairs whose name contains this")
    options = parser.parse_args()
    setup_test_environment(debug=False)
    runner = get_runner(django.conf.settings)(verbosity=0, interactive=False)
    databases = runner.setup_databases()
    try:
        print(f"{'':58}{'first: quartiles, µs':>24}{'second: quartiles, µs':>26}{'ahead':>9}{'z':>7}")
        scene: scenario.World = scenario.build()  # type: ignore[no-untyped-call]
        for pair in pairs(scene):
            if options.only in pair.what:
                measure(pair, options.slow if pair.slow else options.requests)
    finally:
        runner.teardown_databases(databases)


def measure(pair: Pair, count: int) -> None:
    sides = (pair.first, pair.second)
    for send in sides * 20:
        assert send().status_code == pair.status, pair.what
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(count):
        for side in random.sample((0, 1), 2):
            began = time.perf_counter()
            sides[side]()
            times[side].append((time.perf_counter() - began) * 1e6)
    ahead, z = rank_test(*times)
    first, second = (" ".join(f"{value:,.0f}" for value in statistics.quantiles(side, n=4)) for side in times)
    print(f"{pair.what:58}{first:>24}{second:>26}{ahead:>8.1%}{z:>8.1f}", flush=True)


def rank_test(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return how often a value of the first exceeds one of the second, and its distance from chance in deviations."""
    ranked = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    ranks = sum(place for place, (_, side) in enumerate(ranked, 1) if side == 0)
    n, m = len(first), len(second)
    wins = ranks - n * (n + 1) / 2
    return wins / (n * m), (wins - n * m / 2) / (n * m * (n + m + 1) / 12) ** 0.5


def pairs(scene: scenario.World) -> Iterator[Pair]:
    """Return the pairs to compare. A stranger is a person with an account; acme is private."""
    nobody, stranger, page = Client(), Client(), Client()
    _, secret = tokens.issue(
        user=scene.users["charlie"], label="timing", scope=Scope.MANAGE, actor=Viewer(scene.users["charlie"])
    )
    stranger.defaults["HTTP_AUTHORIZATION"] = f"Bearer {secret}"
    page.force_login(scene.users["charlie"])

    def get(client: Client, url: str, **headers: str) -> Send:
        return lambda: client.get(url, headers=headers)

    def hidden(what: str, url: str, client: Client, status: int, *, slow: bool = False) -> Pair:
        return Pair(what, get(client, url.format("acme")), get(client, url.format("acmf")), status, slow)

    machine = {
        "module versions": "/v1/modules/{}/vpc/aws/versions",
        "module download": "/v1/modules/{}/vpc/aws/1.0.0/download",
        "provider versions": "/v1/providers/{}/dns/versions",
        "provider package": "/v1/providers/{}/dns/1.0.0/download/linux/amd64",
        "release by API": "/api/v1/modules/{}/vpc/aws/1.0.0",
        "OCI manifest": "/v2/{}/vpc/aws/manifests/1.0.0",
        "OCI tags": "/v2/{}/vpc/aws/tags/list",
    }
    for what, url in machine.items():
        yield hidden(f"{what}, hidden or missing: nobody", url, nobody, 401)
        yield hidden(f"{what}, hidden or missing: stranger", url, stranger, 404)
    mirror = f"/v1/mirror/{min(django.conf.settings.HOSTNAMES)}/{{}}/dns/index.json"
    yield hidden("mirror, hidden or missing: nobody", mirror, nobody, 404)
    for what, url in {"namespace": "/namespaces/{}", "module": "/modules/{}/vpc/aws/1.0.0"}.items():
        yield hidden(f"page of a {what}, hidden or missing: stranger", url, page, 404, slow=True)
    yield hidden("search page, hidden or missing word: stranger", "/search?q={}", page, 200, slow=True)
    yield hidden("search by API, hidden or missing word: stranger", "/api/v1/search?q={}", stranger, 200, slow=True)
    ids = scene.places["private"]["public_id"], UUID(int=1)
    there, missing = (get(page, f"/releases/{number}") for number in ids)
    yield Pair("page of a release, hidden or missing: stranger", there, missing, 404, slow=True)
    yield from credentials(scene, nobody)


def credentials(scene: scenario.World, nobody: Client) -> Iterator[Pair]:
    dora = scene.users["dora"]
    row, revoked = tokens.issue(user=dora, label="timing", scope=Scope.READ, actor=Viewer(dora))
    tokens.revoke(token=row, actor=Viewer(dora))
    url = "/v1/modules/acme/vpc/aws/versions"

    def bearer(secret: str) -> Send:
        return lambda: nobody.get(url, headers={"Authorization": f"Bearer {secret}"})

    unknown = tokens.new_secret()
    yield Pair("token, revoked or unknown", bearer(revoked), bearer(unknown), 401)
    yield Pair(
        "token, unknown or misspelled (no query: by its check value)", bearer(unknown), bearer(unknown[:-1]), 401
    )

    def exchange(fields: str) -> Send:
        form = "application/x-www-form-urlencoded"
        return lambda: nobody.post("/v2/token", f"grant_type=password&password={fields}", content_type=form)

    yield Pair("OCI token exchange, revoked or unknown", exchange(revoked), exchange(unknown), 401)

    def sign_in(name: str) -> Send:
        def send() -> Any:
            with transaction.atomic():
                answer = Client().post("/account/login/", {"login": name, "password": "not this one"})
                transaction.set_rollback(True)
            return answer

        return send

    with override_settings(PASSWORD_HASHERS=ARGON2):
        people = {
            "there": person("erin"),
            "without a password": User.objects.create(username="fred", password=make_password(None)),
            "deactivated": person("gina", is_active=False),
        }
        for what, user in people.items():
            yield Pair(
                f"sign-in with a wrong password, {what} or missing",
                sign_in(user.username),
                sign_in("henry"),
                200,
                slow=True,
            )


if __name__ == "__main__":
    main()
