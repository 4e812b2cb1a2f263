"""/providers: the list, and what the pages of one version say: usage, platforms, how to verify it, all versions."""

import hashlib
import html
import re

import pytest
from django.utils import timezone

from apps.lib.formats import sums
from apps.portal.namespaces.pages import PROVIDERS as SHOWN
from apps.providers import catalogue
from apps.providers.models import Package, Provider
from apps.releases.models import Release
from apps.signing.models import SigningKey
from tests import pages
from tests.builders.keys import signing_key
from tests.portal.providers.rows import provider_version, row_of_key
from tests.protocol.providers import cast as shelf

V = "/providers/acme/dns/1.2.0"
PLATFORMS = ("darwin_arm64", "linux_amd64", "linux_arm64")


@pytest.fixture
def dns(acme):
    """acme/dns 1.2.0 with true bytes and a true signature."""
    key = shelf.add_key(acme, signing_key("ed25519"), custody="publisher", uid="Cooks <cooks@example.com>")
    version = shelf.add_version(key, signing_key("ed25519"), "dns", "1.2.0", PLATFORMS)
    catalogue.refresh(version.provider)
    return version


@pytest.fixture
def browser(bob, browser_of):
    return browser_of(bob)


@pytest.mark.both
def test_the_list_shows_what_a_reader_may_see(browser, browser_of, charlie, dns):
    assert [str(row.address) for row in browser.get("/providers").context["rows"]] == ["acme/dns"]
    assert browser.get("/providers?q=dn").context["rows"]
    assert "No providers match" in pages.shown(browser.get("/providers?q=cloud"))
    dns.docs_pages.create(kind="resources", slug="record", name="dns_zonefile", html="")
    catalogue.refresh(dns.provider)
    found = pages.markup_of(browser.get("/providers?q=dns_zonefile"))
    assert "resource <code><mark>dns_zonefile</mark></code>" in found
    assert 'href="/providers/acme/dns"' in pages.shown(browser.get("/namespaces/acme"))
    for client in (browser_of(charlie), browser_of(None)):
        assert "acme/dns" not in pages.shown(client.get("/providers"))


def test_it_says_how_to_use_it_and_where_it_runs(browser, dns, settings):
    page = pages.shown(browser.get("/providers/acme/dns"))

    assert f'dns = {{\n      source  = "{settings.PUBLIC_HOST}/acme/dns"\n      version = "1.2.0"' in page
    assert 'version = "~> 1.2"' in page
    assert "Publisher-signed" in page
    assert "the client needs a token" in page
    assert pages.shown(browser.get(V)).count('aria-current="page"') == page.count('aria-current="page"')

    page = browser.get(f"{V}/platforms")
    cells = {(os, arch): one for os, row in page.context["matrix"] for arch, one in row}
    assert sorted(f"{os}_{arch}" for (os, arch), one in cells.items() if one) == sorted(PLATFORMS)
    assert cells["darwin", "amd64"] is None
    for package in dns.packages.all():
        assert package.zh in page.text
        assert html.escape(package.h1) in page.text
        assert package.filename in page.text


def test_its_origin_shows_the_very_sums_and_a_lock_block_of_every_line(browser, dns):
    page = browser.get(f"{V}/origin")
    found = pages.shown(page)
    served = page.context["sums"]

    assert served in found
    assert "gpg --verify terraform-provider-dns_1.2.0_SHA256SUMS.sig" in found
    zh = re.findall(r'"zh:([0-9a-f]{64})"', page.context["lock"])
    assert sorted(zh) == sorted(sums.parse(served.encode()).values())
    assert sorted(re.findall(r'"(h1:[^"]+)"', page.context["lock"])) == sorted(one.h1 for one in dns.packages.all())
    assert dns.key.key_id in found
    assert "Cooks <cooks@example.com>" in found


def test_its_links_lead_to_the_bytes(browser, dns, client):
    for path, digest in (
        (f"{V}/sums", dns.sums_digest),
        (f"{V}/signature", dns.signature_digest),
        (f"{V}/packages/linux/amd64", dns.packages.get(os="linux", arch="amd64").digest),
    ):
        answer = browser.get(path)
        assert (answer.status_code, answer.headers["Cache-Control"]) == (302, "no-store")
        assert digest in answer.headers["Location"]
        served = client.get(answer.headers["Location"])
        assert hashlib.sha256(b"".join(served.streaming_content)).hexdigest() == digest
    assert browser.get(f"{V}/packages/plan9/amd64").status_code == 404


def test_lost_sums_leave_the_page_standing(browser, acme):
    provider_version(acme, "dns", "1.2.0", key=row_of_key(acme, 1))
    page = browser.get(f"{V}/origin")

    assert page.status_code == 200
    assert len(re.findall('"zh:', page.context["lock"])) == 3


def test_its_lifecycle_and_a_revoked_key_stand_on_every_page(browser, dns):
    SigningKey.objects.update(state="revoked", reason="Its laptop was stolen.")
    states = {"deprecated": "2.0.0", "yanked": ""}
    for state, replacement in states.items():
        told = {"lifecycle_reason": "Old.", "lifecycle_replacement": replacement, "lifecycle_at": timezone.now()}
        Release.objects.filter(pk=dns.release_id).update(lifecycle=state, **told)
        for path in (V, f"{V}/platforms", f"{V}/origin"):
            page = pages.shown(browser.get(path))
            assert f"is {state}" in page
            assert "Old." in page
            assert "Its laptop was stolen." in page
        row = pages.shown(browser.get("/providers/acme/dns/versions"))
        assert "Old." in row
        assert ('href="/providers/acme/dns/2.0.0">2.0.0</a>' in row) == bool(replacement)


def test_what_is_in_quarantine_is_there_for_staff_alone_and_without_bytes(browser, browser_of, olga, dns):
    told = {"quarantine_reason": "Looked at.", "quarantined_by": olga}
    Release.objects.filter(pk=dns.release_id).update(quarantined_at=timezone.now(), **told)
    staff = browser_of(olga)
    assert "by olga" in pages.shown(staff.get("/providers/acme/dns/versions"))

    for path in (V, f"{V}/platforms", f"{V}/origin"):
        assert browser.get(path).status_code == 404
        page = staff.get(path)
        assert "1.2.0 is quarantined" in pages.shown(page)
        assert page.context.get("lock") is None
    for path in (f"{V}/sums", f"{V}/signature", f"{V}/packages/linux/amd64"):
        assert staff.get(path).status_code == 404


@pytest.mark.both
def test_all_versions_are_listed_and_the_highest_stable_one_is_shown(browser, acme, dns):
    for number in ("1.10.0", "2.0.0-rc.1"):
        provider_version(acme, "dns", number, key=dns.key)
    page = browser.get("/providers/acme/dns/versions")

    assert [row.version for row in page.context["page"].object_list] == ["2.0.0-rc.1", "1.10.0", "1.2.0"]
    assert browser.get("/providers/acme/dns").context["release"].version == "1.10.0"
    assert "A newer version is available" in pages.shown(browser.get(V))
    found = browser.get("/providers/acme/dns/versions?show=pre-release").context["page"].object_list
    assert [row.version for row in found] == ["2.0.0-rc.1"]
    tab = pages.shown(browser.get(f"{V}/origin"))
    assert 'rel="next" href="/providers/acme/dns/1.10.0/origin"' in tab
    assert "All 3 versions" in tab


def test_a_provider_whose_versions_are_gone_shows_them_all_the_same(browser, dns, acme):
    for path in ("/providers/acme/cloud", f"{V[:-1]}9", "/providers/acme/dns/latest"):
        assert browser.get(path).status_code == 404, path
    Release.objects.filter(pk=dns.release_id).update(state="purged")
    Package.objects.all().delete()
    dns.delete()
    assert browser.get("/providers/acme/dns").status_code == 302
    assert "Removed" in pages.shown(browser.get("/providers/acme/dns/versions"))


def test_hostile_words_stay_words(browser, dns):
    Provider.objects.update(
        description="<script>alert(1)</script>", notice='"><img src=x>', source_url="javascript:a()"
    )
    catalogue.refresh(Provider.objects.get())
    for path in (V, "/providers", "/namespaces/acme"):
        page = browser.get(path).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert 'href="javascript' not in page


@pytest.mark.slow
def test_pages_take_as_many_queries_beside_many(browser, acme, dns):
    paths = ("/providers", "/providers/acme/dns/versions", f"{V}/platforms", "/namespaces/acme")
    browser.get(paths[0])
    counts: list[dict[str, int]] = []
    # From so many on, a namespace counts those that its page does not show.
    for start, stop in ((0, SHOWN), (SHOWN, SHOWN + 40)):
        for number in range(start, stop):
            provider_version(acme, "dns", f"3.{number}.0", key=dns.key)
            catalogue.refresh(provider_version(acme, f"cloud{number}", "1.0.0", key=dns.key).provider)
        counts.append({path: pages.queries_of(browser, path) for path in paths})

    assert counts[0] == counts[1]
    assert max(counts[0].values()) <= 18
