"""/modules/<namespace>/<name>/<system>, its versions and its archive"""

import html
import re

import pytest
from django.utils import timezone

from apps.releases.models import Release
from tests.portal.rows import add_module
from tests.rows import for_each_row

NUMBERS = [f"1.{minor}.0" for minor in range(12)]


@pytest.fixture
def vpc(acme):
    return add_module(acme, "vpc/aws", *NUMBERS, "2.0.0-rc.1", readme_html="<h1>VPC</h1>")


def text_of(response):
    return html.unescape(response.content.decode())


def test_the_module_page_shows_the_highest_stable_version_and_the_way_in(browser_of, bob, vpc, settings):
    browser = browser_of(bob)
    page = text_of(browser.get("/modules/acme/vpc/aws"))

    assert "<title>acme/vpc/aws 1.11.0 - Larder</title>" in page
    assert "Latest" in page
    assert "A newer version is available" not in page
    assert '<div class="prose" hx-ignore><h1>VPC</h1></div>' in page, "a README cannot speak to htmx"
    assert f"tofu login {settings.PUBLIC_HOST}" in page
    assert 'href="/how-to-use#token"' in page
    candidate = text_of(browser.get("/modules/acme/vpc/aws/2.0.0-rc.1"))
    assert "This is a pre-release" in candidate
    assert "A newer version is available" not in candidate
    for unknown in ("9.9.9", "v1.0.0", "nonsense"):
        assert browser.get(f"/modules/acme/vpc/aws/{unknown}").status_code == 404, unknown


def test_the_usage_is_right_for_this_host_and_asks_for_credentials_only_if_needed(
    browser_of, bob, client, vpc, pantry, settings
):
    settings.PUBLIC_HOST = "registry.example.com:8443"
    add_module(pantry, "label/null", "1.0.0")

    page = text_of(browser_of(bob).get("/modules/acme/vpc/aws/1.2.0"))

    assert '>source  = "registry.example.com:8443/acme/vpc/aws"\nversion = "1.2.0"<' in page
    assert 'module "vpc" {\n  source  = "registry.example.com:8443/acme/vpc/aws"\n  version = "~> 1.2"\n}' in page
    assert "tofu login registry.example.com:8443" in page
    assert "Private: the client needs a token" in page
    public = text_of(client.get("/modules/pantry/label/null"))
    assert "tofu login" not in public
    assert "needs a token" not in public


@for_each_row(("version", "chosen"), [("1.11.0", "range"), ("1.2.0", "exact"), ("2.0.0-rc.1", "exact")])
def test_a_range_comes_first_only_for_the_latest(browser_of, bob, vpc, version, chosen):
    page = browser_of(bob).get(f"/modules/acme/vpc/aws/{version}").text
    assert re.findall(r'name="usage" value="(\w+)" checked', page) == [chosen]


@for_each_row(
    "said",
    [
        {"lifecycle": "yanked"},
        {"quarantined_at": timezone.now()},
        {"lifecycle": "deprecated", "quarantined_at": timezone.now()},
    ],
)
def test_what_is_above_the_latest_is_not_older(browser_of, olga, vpc, said):
    Release.objects.filter(version="1.11.0").update(lifecycle_at=timezone.now(), **said)

    page = text_of(browser_of(olga).get("/modules/acme/vpc/aws/1.11.0"))

    for words in ("> Older version<", "A newer version is available", "It still works", "> Latest<"):
        assert words not in page
    older = text_of(browser_of(olga).get("/modules/acme/vpc/aws/1.0.0"))
    assert "> Older version<" in older
    assert "A newer version is available" in older


def test_publishers_read_how_to_publish_the_next_version(browser_of, vpc, alice, olga, bob):
    for user, is_shown in ((alice, True), (olga, True), (bob, False)):
        page = text_of(browser_of(user).get("/modules/acme/vpc/aws/versions"))

        # The highest version is 2.0.0-rc.1, so what comes next is 2.0.0.
        assert ("/api/v1/modules/acme/vpc/aws/2.0.0" in page) is is_shown


def test_the_list_of_versions_has_pages(browser_of, bob, acme):
    add_module(acme, "old/aws", *[f"0.{minor}.0" for minor in range(60)])

    first = text_of(browser_of(bob).get("/modules/acme/old/aws/versions"))

    assert "60 versions" in first
    assert "/modules/acme/old/aws/0.59.0" in first
    assert "/modules/acme/old/aws/0.9.0" not in first
    assert "?page=2" in first


def test_the_archive_of_a_private_module_alone_is_behind_a_capability(browser_of, bob, client, published):
    private, public = published("acme/vpc/aws", "1.0.0").digest, published("pantry/label/null", "1.0.0").digest

    there = browser_of(bob).get("/modules/acme/vpc/aws/1.0.0/archive")["Location"]

    assert there.startswith("/archives/")
    assert there.endswith(f"/{private}/vpc-aws-1.0.0.zip")
    assert not there.startswith(f"/archives/{private}")
    plain = client.get("/modules/pantry/label/null/1.0.0/archive")["Location"]
    assert plain == f"/archives/{public}/label-null-1.0.0.zip"


def test_its_pages_cost_little_at_any_size(browser_of, alice, acme, django_assert_max_num_queries):
    files = [{"name": f"{position}.tf", "size": 1} for position in range(60)]
    add_module(acme, "old/aws", *[f"1.{minor}.0" for minor in range(60)], files=files)
    browser = browser_of(alice)

    for path in ("", "/1.0.0", "/versions"):
        with django_assert_max_num_queries(16):
            assert browser.get(f"/modules/acme/old/aws{path}").status_code == 200
