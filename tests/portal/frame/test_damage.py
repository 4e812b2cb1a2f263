"""Only owners and staff see which files a storage check found missing or damaged."""

from apps.blobs.care.integrity import known
from apps.blobs.models import Blob
from tests.portal.providers.rows import provider_version, row_of_key

TITLE = "Files of this version cannot be downloaded"


def found(digest: str, problem: str) -> None:
    Blob.objects.update_or_create(digest=digest, defaults={"size": 1, "state": "ready", "problem": problem})
    known.renew()


def test_a_module_says_so_on_every_tab(published, browser_of, dora, olga, alice, bob):
    release = published("acme/vpc/aws", "1.2.0")
    found(release.digest, "damaged")

    for person, is_told in ((dora, True), (olga, True), (alice, False), (bob, False)):
        for tab in ("", "/inputs"):
            page = browser_of(person).get(f"/modules/acme/vpc/aws/1.2.0{tab}").text
            assert (TITLE in page) is is_told
            assert ('<span class="mono">vpc-aws-1.2.0.zip</span> is damaged in storage' in page) is is_told
            assert ("?problem=any" in page) is (person == olga)


def test_a_provider_names_each_file(acme, browser_of, dora, olga, alice, bob):
    version = provider_version(acme, "dns", "1.2.0", key=row_of_key(acme, 1))
    package = version.packages.order_by("pk")[0]
    found(package.digest, "damaged")
    found(version.sums_digest, "missing")

    for person, is_told in ((dora, True), (olga, True), (alice, False), (bob, False)):
        page = browser_of(person).get("/providers/acme/dns/1.2.0").text
        assert (f'<span class="mono">{package.filename}</span> is damaged in storage' in page) is is_told
        assert ("_SHA256SUMS</span> is missing in storage" in page) is is_told


def test_where_all_is_right_nothing_is_said(published, browser_of, olga):
    published("acme/vpc/aws", "1.2.0")
    known.renew()

    assert TITLE not in browser_of(olga).get("/modules/acme/vpc/aws/1.2.0").text


def test_a_page_shows_no_sums_that_are_damaged(acme, dora, browser_of):
    version = provider_version(acme, "dns", "1.2.0", key=row_of_key(acme, 1))
    found(version.sums_digest, "damaged")

    assert browser_of(dora).get("/providers/acme/dns/1.2.0/origin").context["sums"] == ""
