"""/modules/<namespace>/<name>/<system>, its versions and its archive"""

import html

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


def test_the_module_page_shows_the_highest_stable_version(browser_of, bob, vpc):
    page = text_of(browser_of(bob).get("/modules/acme/vpc/aws"))

    assert "<title>acme/vpc/aws 1.11.0 - Larder</title>" in page
    assert "Latest" in page
    assert "A newer version is available" not in page


def test_the_usage_is_right_for_this_host(browser_of, bob, vpc, settings):
    settings.PUBLIC_HOST = "registry.example.com:8443"

    page = text_of(browser_of(bob).get("/modules/acme/vpc/aws/1.2.0"))

    assert 'module "vpc" {\n  source  = "registry.example.com:8443/acme/vpc/aws"\n  version = "1.2.0"\n}' in page
    assert 'credentials "registry.example.com:8443"' in page


def test_a_public_module_asks_for_no_credentials(client, pantry):
    add_module(pantry, "label/null", "1.0.0")

    assert "credentials" not in text_of(client.get("/modules/pantry/label/null"))


def test_a_private_module_leads_to_the_login_and_without_a_browser_to_a_token(browser_of, bob, vpc, settings):
    page = text_of(browser_of(bob).get("/modules/acme/vpc/aws"))
    assert f"tofu login {settings.PUBLIC_HOST}" in page
    assert "Without a browser, put a token of scope read into the CLI configuration file" in page
    assert '<a href="/tokens">create a token</a>' in page


def test_an_older_version_names_the_latest(browser_of, bob, vpc):
    assert "A newer version is available" in text_of(browser_of(bob).get("/modules/acme/vpc/aws/1.0.0"))


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


def test_a_pre_release_says_so(browser_of, bob, vpc):
    page = text_of(browser_of(bob).get("/modules/acme/vpc/aws/2.0.0-rc.1"))

    assert "This is a pre-release" in page
    assert "A newer version is available" not in page


@for_each_row("version", ["9.9.9", "v1.0.0", "nonsense"])
def test_an_unknown_version_is_not_found(browser_of, bob, vpc, version):
    assert browser_of(bob).get(f"/modules/acme/vpc/aws/{version}").status_code == 404


def test_the_readme_cannot_speak_to_htmx(browser_of, bob, vpc):
    assert '<div class="prose" hx-ignore><h1>VPC</h1></div>' in text_of(browser_of(bob).get("/modules/acme/vpc/aws"))


@pytest.mark.parametrize(("who", "shown"), [("alice", True), ("olga", True), ("bob", False)])
def test_publishers_read_how_to_publish_the_next_version(request, browser_of, vpc, who, shown):
    page = text_of(browser_of(request.getfixturevalue(who)).get("/modules/acme/vpc/aws/1.0.0"))

    # The highest version is 2.0.0-rc.1, so what comes next is 2.0.0.
    assert ("/api/v1/modules/acme/vpc/aws/2.0.0" in page) is shown


def test_a_version_with_nothing_still_has_a_page(browser_of, bob, acme):
    add_module(acme, "bare/aws", "1.0.0-alpha", files=[])

    page = text_of(browser_of(bob).get("/modules/acme/bare/aws"))

    assert "This version has no README" in page
    assert "0 files" in page


def test_the_list_of_versions_has_pages(browser_of, bob, acme):
    add_module(acme, "old/aws", *[f"0.{minor}.0" for minor in range(60)])

    first = text_of(browser_of(bob).get("/modules/acme/old/aws/versions"))

    assert "60 versions" in first
    assert "/modules/acme/old/aws/0.59.0" in first
    assert "/modules/acme/old/aws/0.9.0" not in first
    assert "?page=2" in first


def test_the_archive_of_a_private_module_is_behind_a_capability(browser_of, bob, published):
    digest = published("acme/vpc/aws", "1.0.0").digest

    response = browser_of(bob).get("/modules/acme/vpc/aws/1.0.0/archive")

    assert response["Location"].startswith("/archives/")
    assert response["Location"].endswith(f"/{digest}/vpc-aws-1.0.0.zip")
    assert not response["Location"].startswith(f"/archives/{digest}")


def test_the_archive_of_a_public_module_has_its_plain_address(client, published):
    digest = published("pantry/label/null", "1.0.0").digest

    response = client.get("/modules/pantry/label/null/1.0.0/archive")

    assert response["Location"] == f"/archives/{digest}/label-null-1.0.0.zip"


@for_each_row("path", ["", "/1.0.0", "/versions"])
@for_each_row("count", [10, 300])
def test_it_costs_the_same_at_any_size(browser_of, alice, acme, django_assert_max_num_queries, path, count):
    numbers = [f"1.{minor}.0" for minor in range(count)]
    files = [{"name": f"{position}.tf", "size": 1} for position in range(count)]
    add_module(acme, "old/aws", *numbers, files=files)
    browser = browser_of(alice)

    with django_assert_max_num_queries(12):
        assert browser.get(f"/modules/acme/old/aws{path}").status_code == 200
