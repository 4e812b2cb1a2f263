"""Only owners and staff see which files a storage check found missing or damaged."""

import pytest

from apps.blobs.care.integrity import known
from apps.blobs.models import Blob
from tests.portal.providers.rows import provider_version, row_of_key

TITLE = "Files of this version cannot be downloaded"
PEOPLE = {"dora": True, "olga": True, "alice": False, "bob": False}


def found(digest: str, problem: str) -> None:
    Blob.objects.update_or_create(digest=digest, defaults={"size": 1, "state": "ready", "problem": problem})
    known.renew()


@pytest.mark.parametrize(("who", "is_told"), PEOPLE.items())
@pytest.mark.parametrize("problem", ["damaged", "missing"])
def test_a_module_says_so_on_every_tab(request, published, browser_of, who, is_told, problem):
    release = published("acme/vpc/aws", "1.2.0")
    browser = browser_of(request.getfixturevalue(who))
    found(release.digest, problem)

    for tab in ("", "/inputs"):
        page = browser.get(f"/modules/acme/vpc/aws/1.2.0{tab}").text
        assert (TITLE in page) is is_told
        assert (f'<span class="mono">vpc-aws-1.2.0.zip</span> is {problem} in storage' in page) is is_told
        assert ("?problem=any" in page) is (who == "olga")


@pytest.mark.parametrize(("who", "is_told"), PEOPLE.items())
def test_a_provider_names_each_file(request, acme, alice, browser_of, who, is_told):
    version = provider_version(acme, "dns", "1.2.0", key=row_of_key(acme, 1))
    package = version.packages.order_by("pk")[0]
    found(package.digest, "damaged")
    found(version.sums_digest, "missing")
    page = browser_of(request.getfixturevalue(who)).get("/providers/acme/dns/1.2.0").text

    assert (f'<span class="mono">{package.filename}</span> is damaged in storage' in page) is is_told
    assert ("_SHA256SUMS</span> is missing in storage" in page) is is_told


def test_where_all_is_right_nothing_is_said(published, browser_of, olga):
    published("acme/vpc/aws", "1.2.0")
    known.renew()

    assert TITLE not in browser_of(olga).get("/modules/acme/vpc/aws/1.2.0").text


def test_a_page_shows_no_sums_that_are_damaged(acme, dora, browser_of):
    version = provider_version(acme, "dns", "1.2.0", key=row_of_key(acme, 1))
    found(version.sums_digest, "damaged")

    assert browser_of(dora).get("/providers/acme/dns/1.2.0/verify").context["sums"] == ""
