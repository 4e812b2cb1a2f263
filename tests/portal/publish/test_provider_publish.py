"""/publish/provider: the form that opens a provider's draft, for people with and without our script."""

import pytest
from django.urls import reverse

from apps.portal.publish import provider
from apps.providers.models import Provider
from apps.releases.models import Release, State
from tests.builders import docs
from tests.portal.publish.conftest import JSON
from tests.providers import draft_client as bench
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
WHERE = "/publish/provider"
FORM = {"provider": "new", "namespace": "acme", "type": "dns", "version": "1.2.0"}


def test_forms_and_lists_lead_to_it(browser, acme):
    for page in ("/publish", "/providers"):
        assert f'href="{WHERE}' in browser.get(page).text, page
    assert 'href="/publish"' in browser.get(WHERE).text
    assert 'href="/publish?namespace=acme"' in browser.get("/namespaces/acme").text
    assert f'href="{WHERE}?namespace=acme"' in browser.get("/publish?namespace=acme").text


def test_it_opens_a_draft_and_leads_to_its_page(browser):
    answer = browser.post(WHERE, FORM | {"protocols": ["6.0", "5.0"]})
    release = Release.objects.get()
    assert (answer.status_code, answer.url) == (303, f"/releases/{release.public_id}")
    assert (release.kind, release.state, str(release)) == ("provider", State.RECEIVING, "acme/dns 1.2.0")
    assert release.notes == {"declared_protocols": ["5.0", "6.0"]}


def test_the_same_person_goes_on_with_the_same_draft_and_our_script_is_told_what_is_there(browser, draft_client):
    draft_client.open()
    draft_client.put(bench.LINUX, b"zip")
    again = browser.post(WHERE, FORM, headers=JSON)
    told = again.json()
    assert (again.status_code, told["state"]) == (200, "receiving")
    assert told["release"] == f"/releases/{Release.objects.get().public_id}"
    assert [(one["name"], one["size"]) for one in told["files"]] == [(bench.LINUX, 3)]
    assert told["files"][0]["digest"].startswith("sha256:")


@for_each_row(
    ("field", "value", "says"),
    [
        ("version", "v1.2.0", "v1.2.0"),
        ("version", "", "Give the version"),
        ("type", "terraform-x", "terraform-x"),
        ("type", "", "needs a type"),
        ("protocols", "4.0", "5.x or 6.x"),
        ("protocols", "five", "major and minor"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(browser, field, value, says):
    answer = browser.post(WHERE, FORM | {field: value}, headers=JSON)
    assert answer.status_code == 422
    assert says in " ".join(answer.json()["errors"][field])
    assert browser.post(WHERE, FORM | {field: value}).status_code == 422
    assert not Release.objects.exists()


def test_only_publishers_are_offered_the_namespace(browser_of, acme, bob, charlie):
    for who in (bob, charlie):
        browser = browser_of(who)
        page = browser.get(WHERE).text
        assert "No namespace to publish in" in page
        assert ("Request access to acme" in page) == (who == bob)
        assert browser.post(WHERE, FORM).status_code == 422
    assert not Release.objects.exists()


def test_of_many_providers_some_are_offered_and_the_address_of_any_other_can_be_typed(browser, acme, monkeypatch):
    for kind in ("aaa", "dns", "zzz"):
        Provider.objects.create(namespace=acme, type=kind)
    monkeypatch.setattr(provider, "OFFERED", 1)
    shown = browser.get(WHERE).context["form"].addresses
    assert shown == ["acme/aaa"]

    new = FORM | {"type": "zzz"}
    assert browser.post(WHERE, new).status_code == 303
    assert Release.objects.get().name == "zzz"


def test_the_page_says_who_could_sign_and_whose_keys_the_person_can_change(browser, browser_of, dora, registered):
    page = browser.get(WHERE).text
    assert 'data-custodies="publisher"' in page
    assert "data-owned" not in page
    assert 'data-custodies="publisher" data-owned>' in browser_of(dora).get(WHERE).text


def test_a_providers_page_leads_its_publishers_there_and_fills_in_the_provider(
    browser, draft_client, held, bob, browser_of
):
    assert 'data-custodies="registry"' in browser.get(WHERE).text
    draft_client.publish(bench.zips(), protocols=["5.0"])
    link = f"{WHERE}?namespace=acme&amp;type=dns"
    assert link in browser.get("/providers/acme/dns/1.2.0").text
    assert link not in browser_of(bob).get("/providers/acme/dns/1.2.0").text

    page = browser.get(WHERE + "?namespace=acme&type=dns&version=1.3.0")
    assert '<option value="acme/dns" selected>' in page.text
    assert 'value="1.3.0"' in page.text
    answer = browser.post(WHERE, FORM | {"provider": "acme/dns"}, headers=JSON)
    assert answer.status_code == 409
    assert "is published" in answer.json()["errors"]["version"][0]


def test_an_open_draft_is_found_again_and_that_of_others_by_publishers_of_the_namespace(browser, bob, dora, browser_of):
    browser_of(dora).post(WHERE, FORM)
    link = reverse("portal:release", args=[Release.objects.get().public_id])
    for page in ("/", WHERE, "/namespaces/acme"):
        assert link in browser_of(dora).get(page).text, page
    assert link in browser.get("/namespaces/acme").text
    assert link not in browser.get("/").text
    assert link not in browser_of(bob).get("/namespaces/acme").text


def test_the_release_page_shows_the_documentation_that_came_with_it(browser, draft_client, held):
    name = f"{bench.STEM}_docs.zip"
    draft_client.publish({**bench.zips(), name: docs.archive()}, protocols=["5.0"])
    page = browser.get(f"/releases/{Release.objects.get().public_id}")

    assert page.status_code == 200
    assert f'data-file="{name}"' in page.text
    assert "Documentation" in page.text.partition(name)[2].partition("</li>")[0]


def test_the_page_asks_the_database_no_more_where_there_is_more(
    browser, draft_client, held, django_assert_max_num_queries
):
    with django_assert_max_num_queries(12):
        browser.get(WHERE)
    for number in range(4):
        browser.post(WHERE, FORM | {"version": f"2.{number}.0"})
    draft_client.publish(bench.zips(), protocols=["5.0"])
    browser.get(WHERE)  # the number in the menu lasts for a minute
    with django_assert_max_num_queries(13):  # one more for it: drafts may wait for the person
        browser.get(WHERE)
