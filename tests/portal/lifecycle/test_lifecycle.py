"""The pages on which a version is deprecated, yanked, put into quarantine, restored and purged."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.releases.models import Release
from tests import pages
from tests.rows import for_each_row

pytestmark = pytest.mark.usefixtures("shelf")

PAGE = "/modules/acme/vpc/aws/1.2.0"
URL = f"{PAGE}/lifecycle"


def send(browser, act, reason="It loses data.", **more):
    return browser.post(URL, {"act": act, "reason": reason, **more})


def test_the_safe_act_stands_first_and_says_that_it_breaks_nobody(published, browser_of, dora):
    for version in ("1.1.0", "1.2.0", "1.3.0-rc.1"):
        published(version=version)
    browser = browser_of(dora)
    page = pages.markup_of(browser.get(URL))

    assert page.index('data-act="deprecate"') < page.index('data-act="yank"')
    assert "Safe for all users" in page
    assert 'data-act="quarantine"' not in page, "that is for staff"
    assert 'value="quarantine"' not in pages.markup_of(browser.get(f"{URL}?act=quarantine"))
    assert "Roll back to 1.1.0" in pages.markup_of(browser.get(f"{URL}?act=yank"))
    older = f"{URL.replace('1.2.0', '1.1.0')}?act=yank"
    assert "Roll back" not in pages.markup_of(browser.get(older))
    for act in ("purge", ""):
        assert send(browser, act).status_code == 400, "there is no such act"


@for_each_row(
    ("act", "words"),
    [("deprecate", "This version is deprecated"), ("yank", "This version is yanked")],
)
def test_an_act_leads_to_the_versions_page_which_says_so(published, browser_of, dora, alice, act, words):
    published()
    browser = browser_of(dora)
    response = send(browser, act)

    assert (response.status_code, response.url) == (303, PAGE)
    page = pages.markup_of(browser.get(PAGE))
    assert words in page
    assert "It loses data." in page
    assert "by dora" in page
    link = '<a href="/modules/acme/vpc/aws/usage/notify?version=1.2.0">Notify users of 1.2.0</a>'
    for url in (PAGE, URL):
        assert link in pages.markup_of(browser.get(url))
        assert "Notify users" not in pages.markup_of(browser_of(alice).get(url)), "that is for owners"


@for_each_row(
    ("text", "shown"),
    [
        ("1.3.0", '<a class="mono" href="/modules/pantry/vpc/aws/1.3.0">1.3.0</a>'),
        ("acme/net/aws 2.0.0", '<a class="mono" href="/modules/acme/net/aws/2.0.0">acme/net/aws 2.0.0</a>'),
        ("acme/net/aws@2.0.0", '<a class="mono" href="/modules/acme/net/aws/2.0.0">acme/net/aws@2.0.0</a>'),
        ("the <b>network</b> team's module", "the &lt;b&gt;network&lt;/b&gt; team&#x27;s module"),
        ("and/or", "Use instead: and/or<"),
    ],
)
def test_a_replacement_is_a_link_where_it_names_something(published, browser_of, alice, client, text, shown):
    published("pantry/vpc/aws", "1.2.0")
    url = PAGE.replace("acme", "pantry")
    browser_of(alice).post(f"{url}/lifecycle", {"act": "deprecate", "reason": "Old.", "replacement": text})

    page = pages.markup_of(client.get(url))
    assert "This version is deprecated" in page
    assert shown in page
    assert "alice" not in page, "who is not signed in reads no names"


def test_a_publisher_is_offered_the_deprecation_and_told_who_yanks(published, browser_of, alice, bob):
    published()
    browser = browser_of(alice)
    assert f'href="{URL}?act=deprecate"' in pages.markup_of(browser.get(PAGE))
    assert "Manage this version" not in pages.markup_of(browser_of(bob).get(PAGE))
    assert "You published this version, so you can yank it for 72 hours" in pages.markup_of(
        browser.get(f"{URL}?act=yank")
    )
    Release.objects.update(published_at=timezone.now() - timedelta(hours=72))

    for url in (URL, f"{URL}?act=yank"):
        assert "Only owners of acme can yank it" in pages.markup_of(browser.get(url))
    assert send(browser, "yank").status_code == 403
    assert Release.objects.get().lifecycle == "maintained"


def test_a_missing_reason_is_said_beside_its_field_and_a_conflict_says_by_whom(published, browser_of, dora):
    published()
    browser = browser_of(dora)
    response = send(browser, "yank", reason=" ")
    assert response.status_code == 422
    page = pages.markup_of(response)
    assert 'href="#yank_reason"' in page
    assert page.count("This field is required.") == 2, "in the summary and beside the field, of one form only"

    send(browser, "yank")
    response = send(browser, "yank")
    assert response.status_code == 409
    assert "is yanked since" in pages.markup_of(response)
    assert "by dora: It loses data." in pages.markup_of(response)


def test_a_quarantine_names_what_has_the_same_bytes(published, browser_of, olga, dora):
    one, twin = published(), published("pantry/copy/aws", "3.0.0")
    Release.objects.filter(pk=twin.pk).update(digest=one.digest)
    for url in (f"{URL}?act=quarantine", f"{URL}/purge"):
        assert "pantry/copy/aws 3.0.0" in pages.markup_of(browser_of(olga).get(url))
    for act in ("quarantine", "yank"):
        assert "pantry/copy/aws 3.0.0" not in pages.markup_of(browser_of(dora).get(f"{URL}?act={act}"))


def test_purging_asks_for_the_whole_name_and_leads_to_the_tombstone(published, browser_of, olga):
    published(version="1.1.0")
    published()
    browser = browser_of(olga)
    wrong = browser.post(f"{URL}/purge", {"reason": "A key.", "confirm": "acme/vpc/aws"})
    assert wrong.status_code == 422
    assert "expected &#x27;acme/vpc/aws 1.2.0&#x27;" in pages.markup_of(wrong)
    assert Release.objects.filter(state="purged").count() == 0

    right = browser.post(f"{URL}/purge", {"reason": "A key.", "confirm": "acme/vpc/aws 1.2.0"})
    assert (right.status_code, right.url) == (303, "/modules/acme/vpc/aws/versions")
    gone = browser.get(PAGE)
    assert gone.status_code == 404
    assert "acme/vpc/aws 1.2.0 was removed on" in pages.markup_of(gone)
    assert browser.get(URL).status_code == 404
