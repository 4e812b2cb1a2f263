"""Lists, pages and the API mark a verified origin, nothing else, and ask nothing more for it."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.releases.origin.models import Origin
from tests.builders.archives import module_zip
from tests.provenance.origin.conftest import PAGE, open_to_all
from tests.providers.draft_client import DraftClient, zips
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
MARK = 'aria-label="Verified origin"'
LISTS = ("/modules", "/modules?q=vpc", "/search?q=vpc", "/namespaces/acme")


@pytest.fixture
def both_ways(ci, send, published, acme):
    """vpc/aws came from CI, net/aws from a browser."""
    open_to_all(acme)
    published("acme/vpc/aws", "1.1.0")
    send(ci())
    published("acme/net/aws", "1.2.0")


def marks(client: Client, url: str) -> int:
    answer = client.get(url)
    assert answer.status_code == 200, (url, answer)
    return answer.content.decode().count(MARK)


@pytest.mark.both
@for_each_row("url", LISTS)
def test_a_list_marks_the_module_from_ci_alone(url, both_ways, browser_of, alice):
    assert marks(browser_of(alice), url) == 1
    Origin.objects.exclude(vendor="").update(others=[{"by": None, "way": "page", "token_label": "", "facts": {}}])
    assert marks(browser_of(alice), url) == 0


def test_the_list_of_versions_and_the_page_of_one_mark_the_one_from_ci(both_ways, browser_of):
    client = browser_of(None)
    page = client.get(f"{PAGE}/versions").content.decode()

    assert page.count(MARK) == 1
    row = page[page.index("<tbody>") :]
    row = row[row.index(f'href="{PAGE}/1.2.0"') :]
    assert MARK in row[: row.index("</tr>")]
    assert f'href="{PAGE}/1.2.0/origin">' in client.get(f"{PAGE}/1.2.0").content.decode()
    assert "Verified origin" in client.get(PAGE).content.decode()
    assert "Verified origin" not in client.get(f"{PAGE}/1.1.0").content.decode()


def test_providers_are_marked_as_well(ci, held, acme, browser_of, tofu):
    open_to_all(acme)
    DraftClient(ci()).publish(zips(), protocols=["5.0"])

    assert marks(browser_of(None), "/providers") == 1
    assert marks(browser_of(None), "/providers/acme/dns/versions") == 1
    assert [row["verified"] for row in tofu(None).get("/api/v1/providers").json()["providers"]] == [True]
    versions = tofu(None).get("/api/v1/providers/acme/dns/versions").json()["versions"]
    assert [row["verified"] for row in versions] == [True]


@pytest.mark.both
def test_rows_of_the_api_say_it(both_ways, tofu):
    client = tofu(None)

    rows = {row["name"]: row["verified"] for row in client.get("/api/v1/modules").json()["modules"]}
    assert rows == {"vpc": True, "net": False}
    versions = client.get("/api/v1/modules/acme/vpc/aws/versions").json()["versions"]
    assert {row["version"]: row["verified"] for row in versions} == {"1.2.0": True, "1.1.0": False}
    found = client.get("/api/v1/search?q=aws").json()["groups"]
    assert {one["address"]: one["verified"] for group in found for one in group["results"]} == {
        "acme/vpc/aws": True,
        "acme/net/aws": False,
    }


def test_a_mark_costs_no_query(both_ways, published, browser_of, alice):
    client = browser_of(alice)
    for number in range(3):
        published(f"acme/more{number}/aws", "1.0.0")
        published("acme/vpc/aws", f"1.0.{number}", module_zip(comment=bytes([number])))
    api = "/api/v1/modules"
    urls = ["/modules", f"{PAGE}/versions", "/search?q=aws", api, f"{api}/acme/vpc/aws/versions"]

    def asked(url: str) -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            client.get(url)
        return [query["sql"] for query in queries]

    for url in urls:
        client.get(url)
    many = {url: asked(url) for url in urls}
    Origin.objects.all().delete()
    assert {url: len(asked(url)) for url in urls} == {url: len(queries) for url, queries in many.items()}
    # The frame of the version's pages asks for its own.
    assert {url for url in urls if sum('"releases_origin"' in sql for sql in many[url]) > 2} == set()
