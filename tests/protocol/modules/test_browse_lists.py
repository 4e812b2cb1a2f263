"""The lists of /v1/modules: all, searched, of a namespace, and of a name in its systems."""

import json

import pytest

from tests import pages
from tests.portal.rows import add_modules
from tests.protocol import catalogue
from tests.rows import for_each_row


@pytest.fixture
def vpc(acme, pantry, hall):
    return catalogue.fill(acme, pantry, hall)


def ids(response):
    assert response.status_code == 200, response.content
    return [module["id"] for module in json.loads(response.content)["modules"]]


@for_each_row(
    ("path", "name"),
    [
        ("/v1/modules?limit=2&offset=1", "module-list"),
        ("/v1/modules/search?q=network&limit=2", "module-search"),
        ("/v1/modules/hall", "namespace-modules"),
        ("/v1/modules/acme/vpc", "module-systems"),
    ],
)
def test_lists_are_frozen(tofu, bob, vpc, golden, path, name):
    """Browsers and update bots parse these. Changing a byte needs a reason in the commit."""
    response = tofu(bob).get(path)

    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert response.content == golden(f"modules_v1/{name}.json")


@pytest.mark.both
def test_it_lists_what_somebody_may_see_without_what_is_yanked(tofu, vpc, bob, charlie):
    public, internal = "pantry/label/null/0.25.0", "hall/dns_zone/aws/3.0.0"
    private = ["acme/vpc/aws/1.10.0", "acme/vpc/google/0.1.0"]
    for who, expected in ((None, [public]), (charlie, [internal, public]), (bob, [*private, internal, public])):
        for path in ("/v1/modules", "/v1/modules/", "/v1/modules/search"):
            assert ids(tofu(who).get(path)) == expected, (who, path)
    headers = tofu(bob).get("/v1/modules").headers
    assert (headers["Cache-Control"], headers["Vary"]) == ("private, no-cache", "Authorization, Accept-Encoding")


@pytest.mark.both
@for_each_row(
    ("query", "expected"),
    [
        ("/v1/modules?provider=google", ["acme/vpc/google/0.1.0"]),
        ("/v1/modules/acme?provider=aws", ["acme/vpc/aws/1.10.0"]),
        ("/v1/modules/search?q=network&provider=aws", ["acme/vpc/aws/1.10.0", "hall/dns_zone/aws/3.0.0"]),
        ("/v1/modules/search?q=network&namespace=hall", ["hall/dns_zone/aws/3.0.0"]),
        ("/v1/modules/search?q=gone", []),
        ("/v1/modules?verified=true", []),
        ("/v1/modules/hall?verified=false", ["hall/dns_zone/aws/3.0.0"]),
        ("/v1/modules?provider=%00", ["acme/vpc/aws/1.10.0"]),
    ],
)
def test_it_filters(tofu, bob, vpc, query, expected):
    assert ids(tofu(bob).get(query))[: len(expected) or None] == expected


@pytest.mark.both
def test_pages_lead_through_the_whole_list_and_back(tofu, bob, acme):
    add_modules(acme, [f"part-{number:03}/aws" for number in range(24)])
    client, url, seen = tofu(bob), "/v1/modules?provider=aws&limit=9", []
    while url:
        document = json.loads(client.get(url).content)
        seen += [module["name"] for module in document["modules"]]
        last, url = url, document["meta"].get("next_url")

    assert seen == [f"part-{number:03}" for number in range(24)]
    assert last == "/v1/modules?limit=9&offset=18&provider=aws"
    assert document["meta"] == {
        "limit": 9,
        "current_offset": 18,
        "prev_offset": 9,
        "prev_url": "/v1/modules?limit=9&offset=9&provider=aws",
    }


@for_each_row(
    ("query", "limit"), [("", 15), ("limit=0", 15), ("limit=100", 100), ("limit=101", 100), ("limit=1000000", 100)]
)
def test_a_page_has_at_most_a_hundred(tofu, db, query, limit):
    assert json.loads(tofu().get(f"/v1/modules?{query}").content)["meta"]["limit"] == limit


@for_each_row("query", ["limit=x", "offset=-1", "offset=1e9", "offset=99999999999999999999", "limit=%D9%A1"])
def test_a_number_that_is_none_is_refused(tofu, db, query):
    response = tofu().get(f"/v1/modules?{query}")

    assert response.status_code == 400
    assert "expected a number from 0" in json.loads(response.content)["errors"][0]


@for_each_row("name", ["nothing", "vp", "VPC", "gone"])
def test_a_name_without_a_listed_version_is_404(tofu, bob, vpc, name):
    namespace = "pantry" if name == "gone" else "acme"
    assert tofu(bob).get(f"/v1/modules/{namespace}/{name}").status_code == 404


def test_a_namespace_without_modules_is_an_empty_list(tofu, bob, acme):
    assert ids(tofu(bob).get("/v1/modules/acme")) == []


@pytest.mark.slow
def test_it_costs_the_same_at_any_size(tofu, bob, acme):
    client = tofu(bob)
    paths = ("/v1/modules", "/v1/modules/search?q=part", "/v1/modules/acme", "/v1/modules/acme/part-1")
    costs: list[dict[str, int]] = []
    for start, stop in ((0, 10), (10, 120)):
        add_modules(acme, [f"part-{number}/aws" for number in range(start, stop)])
        costs.append({path: pages.queries_of(client, path) for path in paths})

    assert costs[0] == costs[1]
    assert max(costs[0].values()) <= 4
