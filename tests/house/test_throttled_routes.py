"""Rate limits on routes: what clients do during `init` has none, the rest is refused in the dialect of its address."""

import re
from urllib.parse import parse_qsl, urlencode

import pytest
from django.core.cache import cache
from django.db import transaction

from apps.accounts.access.throttling import COUNTED
from apps.lib.settings_values.rates import Rate
from tests import rooms
from tests.api import schema
from tests.house import scenario
from tests.house.policy.table import ROUTES, TABLES, kind_of
from tests.openapi import id_of
from tests.programs import CHECKOUT

# What a search and an export are, beside what is sent for a policy's cell.
QUERY = "q=vpc&format=csv&suggest=vpc"
CLIENTS = "protocol:", "oci:"
# Each is allowed once, with the dialect of the refusal.
LIMITED = {
    ("portal:modules", "GET"): "page",
    ("portal:search", "GET"): "page",
    ("portal:providers", "GET"): "page",
    ("portal:publish", "GET"): "page",
    ("portal:publish", "POST"): "form",
    ("portal:provider-publish", "POST"): "form",
    ("portal:invitations", "POST"): "page",
    ("portal:own-activity", "GET"): "page",
    ("portal:namespace-activity", "GET"): "page",
    ("api:modules", "GET"): "api",
    ("api:search", "GET"): "api",
    ("api:providers", "GET"): "api",
    ("api:audit", "GET"): "api",
    ("api:namespace-audit", "GET"): "api",
    ("api:leaked-tokens", "POST"): "api",
    ("api:module-release", "PUT"): "api",
    ("api:module-attestations", "POST"): "api",
    ("api:provider-attestations", "POST"): "api",
    ("api:provider-release", "POST"): "api",
    ("api:provider-file", "PUT"): "api",
    ("api:module-uploads", "POST"): "api",
    ("api:provider-file-uploads", "POST"): "api",
    ("api:invitations", "POST"): "api",
    ("api:provider-signature", "PUT"): "api",
    ("api:provider-docs", "PUT"): "api",
    ("oci:manifest", "PUT"): "oci",
    **rooms.rows("LIMITED"),
}
WHO = {"api:audit": "olga-manage", "api:provider-file": "alice-manage", "api:provider-file-uploads": "alice-manage"}


@pytest.fixture
def once(settings):
    settings.RATES = dict.fromkeys(settings.RATES, Rate(1, 1000 * 3600))
    cache.clear()
    yield
    cache.clear()


def answers(scene, client, name, method, times=2):
    """To equal requests, each of whose changes is taken back."""
    route = ROUTES[name]
    url = scenario.version_for(name, method, scene.url(route, "private" if route.arguments else "any"))
    known = {one["name"] for one in schema.operations().get(id_of(name, method), {}).get("parameters", [])}
    query = urlencode([pair for pair in parse_qsl(QUERY) if pair[0] in known or not name.startswith("api:")])
    url += f"{'&' if '?' in url else '?'}{query}" if query else ""
    body = scenario.body_of(name, method, "private")
    for _ in range(times):
        with transaction.atomic():
            answer = getattr(client, method.lower())(url, **body) if body else client.generic(method, url)
            list(getattr(answer, "streaming_content", []))
            transaction.set_rollback(True)
        yield answer


@pytest.mark.slow
def test_nothing_that_clients_do_during_init_has_a_limit(scene, client_of, once):
    """Nor have pushed blobs: clients do not repeat them."""
    reads = [name for name in TABLES if name.startswith(CLIENTS) or (kind_of(name) == "token" and "blob" in name)]
    asked = [(name, method) for name in reads for method in TABLES[name] if (name, method) not in LIMITED]
    assert len(asked) > 20
    for who in ("nobody", "dora-manage"):
        client = client_of(who)
        said = {cell: [answer.status_code for answer in answers(scene, client, *cell)] for cell in asked}
        assert [cell for cell, statuses in said.items() if 429 in statuses] == []
    stranger, wrong = client_of("nobody"), {"Authorization": "Bearer lrd_u_nonsense"}
    assert {stranger.get("/v1/modules/acme/vpc/aws/versions", headers=wrong).status_code for _ in range(3)} == {401}
    assert {stranger.get("/.well-known/terraform.json").status_code for _ in range(5)} == {200}


# Said to be answered 429, and tested with refusals that alone are counted, scans in progress, or an upstream.
ELSEWHERE = {
    *(("api:git-hook", "POST"), ("api:lock", "POST")),
    *(("api:repositories", "POST"), ("api:repository-host-keys", "POST")),
}
PEOPLE = ("olga-manage", "dora-manage", "alice-manage", "nobody")


def says_429(name, method):
    described = schema.operations()[f"{method.lower()}_{name.removeprefix('api:').replace('-', '_')}"]
    return "429" in described["responses"]


@pytest.mark.slow
def test_the_schema_says_429_exactly_where_it_is_answered(scene, client_of, once):
    """Each operation, twice, by people who may do most: a limit that is not declared shows as an answer."""
    cells = [(name, method) for name in TABLES if name.startswith("api:") for method in TABLES[name]]
    assert len(cells) > 100
    limited = set()
    for who in PEOPLE:
        client = client_of(who)
        limited |= {cell for cell in cells if 429 in [one.status_code for one in answers(scene, client, *cell)]}

    assert limited == {cell for cell in cells if says_429(*cell)} - ELSEWHERE
    assert limited == {cell for cell in LIMITED if cell[0].startswith("api:")}
    assert all(says_429(*cell) for cell in ELSEWHERE)


def test_the_api_counts_only_what_an_operation_declares():
    """By `ApiView.count`, which refuses another limit; then the schema says so."""
    views = [path for path in (CHECKOUT / "apps/api").rglob("*.py") if path.name != "base.py"]
    assert len(views) > 30
    assert [path.name for path in views if "throttling" in path.read_text()] == []
    declared = {group for view in views for group in re.findall(r"limits=\[\"(\w+)\"\]", view.read_text())}
    assert declared <= set(COUNTED)


def document_of(answer, dialect):
    """What the dialect calls the refusal."""
    if dialect == "api":
        return answer.json()["error"]["code"]
    if dialect == "oci":
        return answer.json()["errors"][0]["code"].lower()
    assert '<main id="main"' in answer.text
    return "too_many_attempts" if "More than 1 " in answer.text and "Try again in" in answer.text else answer.text


@pytest.mark.parametrize(("name", "method"), LIMITED)
def test_too_many_requests_are_refused_in_the_dialect_of_their_address(scene, client_of, once, name, method):
    who = WHO.get(name, "dora-manage") if kind_of(name) == "token" else "dora"
    first, second = answers(scene, client_of(who), name, method)

    assert first.status_code < 400 or first.status_code == 422, first.content
    assert second.status_code == 429
    assert int(second.headers["Retry-After"]) in range(1, 6)  # less at the end of an hour
    assert "public" not in second.headers["Cache-Control"]
    dialect = LIMITED[name, method]
    assert document_of(second, dialect) == ("toomanyrequests" if dialect == "oci" else "too_many_attempts")
    if kind_of(name) == "session":
        assert next(answers(scene, client_of("alice"), name, method)).status_code != 429, "another account"
