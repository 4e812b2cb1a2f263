"""The live row after a first token and a first namespace; that of a mirror is tested in its room."""

from datetime import timedelta

from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Scope
from apps.releases.models import Release
from tests import pages


def row_of(page: str) -> str:
    return page.partition('id="first-use"')[2].partition("</p>")[0]


def test_the_page_of_a_new_token_waits_for_the_first_client_and_turns_green(browser_of, alice):
    token = tokens.issue(user=alice, label="CI", scope=Scope.READ, actor=Viewer(alice))[0]
    browser, url = browser_of(alice), f"/tokens/{token.pk}/created"
    row = row_of(pages.shown(browser.get(url)))
    assert "Waiting for the first client that uses it" in row
    again = row.partition('hx-get="')[2].partition('"')[0]
    assert browser.get(again).status_code == 204, "nothing has changed"

    ApiToken.objects.update(last_used_at=timezone.now(), last_used_by="OpenTofu 1.12.6")
    row = row_of(pages.shown(browser.get(again)))
    assert "OpenTofu 1.12.6 used it" in row
    assert "hx-get" not in row


def test_an_empty_namespace_waits_for_its_first_publication_with_those_who_publish(
    acme, published, browser_of, alice, bob
):
    browser = browser_of(alice)
    row = row_of(pages.shown(browser.get("/namespaces/acme")))
    assert "Waiting for the first publication" in row
    again = row.partition('hx-get="')[2].partition('"')[0]
    assert browser.get(again).status_code == 204, "nothing has changed"
    assert row_of(pages.shown(browser_of(bob).get("/namespaces/acme"))) == ""

    published()
    row = row_of(pages.shown(browser.get(again)))
    assert '<a href="/modules/acme/vpc/aws/1.2.0">acme/vpc/aws 1.2.0 is published</a>' in row
    assert "hx-get" not in row
    Release.objects.update(published_at=timezone.now() - timedelta(hours=2))
    assert row_of(pages.shown(browser.get("/namespaces/acme"))) == "", "it is no news any more"
