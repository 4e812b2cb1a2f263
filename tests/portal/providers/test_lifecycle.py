"""The pages on which a provider's version is managed, and what is said of the provider."""

import pytest
from django.utils import timezone

from apps.jobs.models import Job
from apps.providers.signatures import resigning
from apps.releases.models import Fetch, Release, ReleaseBlob
from apps.signing.models import PrivateKey
from tests import pages
from tests.portal.providers.rows import provider_version, row_of_key
from tests.rows import for_each_row

PAGE = "/providers/acme/dns/1.2.0"
URL = f"{PAGE}/lifecycle"


@pytest.fixture
def key(acme):
    return row_of_key(acme, 1, custody="registry")


@pytest.fixture
def out(acme, alice, key):
    return provider_version(acme, "dns", "1.2.0", key=key, user=alice)


@pytest.fixture
def newer(acme, out):
    """A newer key whose private half is here."""
    made = row_of_key(acme, 2, custody="registry")
    PrivateKey.objects.create(key=made, nonce=b"n", ciphertext=b"c", kek_id="k")
    return made


def send(browser, act, reason="It loses records.", **more):
    return browser.post(URL, {"act": act, "reason": reason, **more})


@for_each_row(("act", "words"), [("deprecate", "This version is deprecated"), ("yank", "This version is yanked")])
def test_an_act_leads_to_the_versions_page_and_can_be_undone(out, browser_of, dora, act, words):
    browser = browser_of(dora)
    response = send(browser, act)
    assert (response.status_code, response.url) == (303, PAGE)
    page = pages.markup_of(browser.get(PAGE))
    assert words in page
    assert "It loses records." in page
    assert send(browser, "restore", reason="Mended.").url == PAGE
    assert words not in pages.markup_of(browser.get(PAGE))


def test_a_quarantine_is_for_staff_who_see_what_else_stops(acme, pantry, out, key, browser_of, olga, dora):
    twin = provider_version(pantry, "copy", "3.0.0", key=row_of_key(pantry, 3))
    shared = ReleaseBlob.objects.filter(release=out.release, name__endswith="linux_amd64.zip").get()
    ReleaseBlob.objects.create(release=twin.release, digest=shared.digest, name="other.zip")

    assert "pantry/copy 3.0.0" in pages.markup_of(browser_of(olga).get(f"{URL}?act=quarantine"))
    assert "pantry/copy 3.0.0" in pages.markup_of(browser_of(olga).get(f"{URL}/purge"))
    assert "pantry/copy 3.0.0" not in pages.markup_of(browser_of(dora).get(f"{URL}?act=quarantine"))
    assert send(browser_of(dora), "quarantine").status_code == 403
    assert send(browser_of(olga), "quarantine", reason="Malware.").url == PAGE
    assert browser_of(dora).get(URL).status_code == 404
    stone = pages.shown(browser_of(dora).get(PAGE))
    assert "1.2.0 is quarantined" in stone
    assert "Malware." in stone
    page = pages.markup_of(browser_of(olga).get(PAGE))
    assert "1.2.0 is quarantined" in page
    for words in ("> Older version<", "A newer version is available", "Clients still install", "> Latest<"):
        assert words not in page
    assert send(browser_of(olga), "restore").url == PAGE
    assert browser_of(dora).get(PAGE).status_code == 200


def test_an_owner_has_it_signed_anew(out, newer, browser_of, dora, alice):
    assert "Only owners of acme can sign a version again" in pages.markup_of(browser_of(alice).get(URL))
    assert send(browser_of(alice), "resign").status_code == 403
    browser = browser_of(dora)
    assert newer.key_id in pages.markup_of(browser.get(URL)).partition('id="resign"')[2]
    assert send(browser, "resign").url == URL
    assert Job.objects.get(kind=resigning.JOB).target == out.release_id
    assert 'data-resign="under-way"' in pages.markup_of(browser.get(URL))
    assert send(browser, "resign").status_code == 409


def test_where_it_cannot_be_signed_anew_the_page_says_why(acme, out, browser_of, dora, published):
    browser = browser_of(dora)
    assert "Generate another key" in pages.markup_of(browser.get(URL))
    assert send(browser, "resign").status_code == 409
    assert send(browser, "purge").status_code == 400
    published()
    module = browser.post("/modules/acme/vpc/aws/1.2.0/lifecycle", {"act": "resign"})
    assert module.status_code == 400, "a module has no signature"
    provider_version(acme, "mail", "1.2.0", key=row_of_key(acme, 4))
    page = pages.markup_of(browser.get(URL.replace("dns", "mail")))
    assert "The publisher's new signature" in page
    assert 'value="resign"' not in page


def test_staff_have_it_verified_and_see_what_was_found(out, browser_of, olga, dora):
    browser = browser_of(olga)
    assert "Not verified since it was published" in pages.markup_of(browser.get(URL))
    assert send(browser, "verify").url == URL
    assert send(browser, "verify").status_code == 409
    assert send(browser_of(dora), "verify").status_code == 403
    now, name = timezone.now(), "terraform-provider-dns_1.2.0_linux_amd64.zip"
    Release.objects.update(verified_at=now, verified_as="sound")
    assert 'data-verified="sound"' in pages.markup_of(browser.get(PAGE))
    finding = {"name": name, "digest": "a" * 64, "outcome": "missing", "found": "nothing"}
    Release.objects.update(verified_as="missing", verified_findings=[finding])

    for page in (PAGE, URL):
        assert "The stored files differ from what was published" in pages.markup_of(browser.get(page))
    assert "stored files" not in pages.markup_of(browser_of(dora).get(PAGE))


def test_the_notice_stands_on_every_page_of_the_provider(out, browser_of, alice, bob):
    url = "/providers/acme/dns/settings"
    browser = browser_of(alice)
    assert f'href="{url}"' in pages.markup_of(browser.get(PAGE))
    told = {"description": "Our zones", "source_url": "https://git.example.com/dns", "notice": "Move by May."}
    response = browser.post(url, told)
    assert (response.status_code, response.url) == (303, "/providers/acme/dns")
    assert "Move by May." in pages.markup_of(browser.get(PAGE))
    assert "Move by May." in pages.markup_of(browser.get(url))
    assert browser_of(bob).get(url).status_code == 403
    refused = browser.post(url, told | {"source_url": "ftp://x"})
    assert refused.status_code == 422
    assert "https://" in pages.markup_of(refused)


def test_it_costs_the_same_with_many_who_fetched_it(out, newer, browser_of, dora, django_user_model):
    browser = browser_of(dora)
    costs = []
    for start, stop in ((0, 2), (2, 20)):
        for number in range(start, stop):
            user = django_user_model.objects.create_user(f"cook{number}")
            Fetch.objects.create(release=out.release, user=user, last_on=timezone.now().date(), count=1)
        costs.append(pages.queries_of(browser, URL))

    assert costs[0] == costs[1] <= 30
