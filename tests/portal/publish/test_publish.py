"""/publish: the first step in the browser."""

import pytest
from django.test import Client

from apps.accounts.models import Grant, Role
from apps.releases.models import Release, State
from tests import pages
from tests.portal.publish.conftest import JSON, NEW
from tests.portal.rows import add_modules
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db


def test_it_reserves_the_release_and_answers_our_script_with_a_ticket(browser):
    response = browser.post("/publish", {**NEW, "file_name": "vpc-1.2.0.zip"}, headers=JSON)
    assert response.status_code == 201
    release = Release.objects.get()
    assert str(release) == "acme/vpc/aws 1.2.0"
    assert (release.state, release.file_name) == (State.RECEIVING, "vpc-1.2.0.zip")
    assert response.json()["release"] == f"/releases/{release.public_id}"
    assert response.json()["upload"].startswith("/uploads/")

    again = browser.post("/publish", NEW, headers=JSON).json()["release"]
    assert f'href="{again}">a later release' in browser.get(f"/releases/{release.public_id}").text
    assert 'action="/uploads/' in browser.get(again).text


def test_without_javascript_it_leads_to_the_release_page_with_its_file_form(browser):
    response = browser.post("/publish", NEW)
    assert response.status_code == 303
    page = browser.get(response.url).content.decode()
    assert 'enctype="multipart/form-data"' in page
    assert 'action="/uploads/' in page


def test_of_several_namespaces_none_is_chosen_for_the_publisher(browser, alice):
    page = pages.markup_of(browser.get("/publish"))
    assert '<option value="" selected>Choose a namespace</option>' in page
    fields = page[page.index("data-new-module") :]
    link = '<a href="/namespaces/new" target="_blank" rel="noopener">Create a namespace</a>'
    assert link in fields[fields.index("</fieldset>") :], "in another tab, whatever is chosen"
    answer = browser.post("/publish", {**NEW, "namespace": ""}, headers=JSON)
    assert answer.json()["errors"] == {"namespace": ["A new module needs a namespace."]}

    Grant.objects.filter(user=alice).exclude(namespace__name="acme").delete()
    only = browser.get("/publish").content.decode()
    assert "Choose a namespace" not in only
    assert '<option value="acme">acme</option>' in only


@for_each_row(
    ("field", "text", "says"),
    [
        ("name", "Web app", "a space"),
        ("name", "a--b", "single separators"),
        ("name", "", "needs a name"),
        ("name", "blobs", "reserved"),
        ("system", "a-ws", "a dash"),
        ("system", "", "needs a system"),
        ("version", "v1.2.0", "v1.2.0"),
        ("version", "1.2", "1.2"),
        ("version", "", "such as 1.0.0"),
        ("namespace", "nowhere", "nowhere"),
    ],
)
def test_it_explains_a_broken_rule_beside_its_field(browser, field, text, says):
    data = {**NEW, field: text}
    response = browser.post("/publish", data, headers=JSON)
    assert response.status_code == 422
    assert list(response.json()["errors"]) == [field]
    assert says in response.json()["errors"][field][0]
    page = browser.post("/publish", data)
    assert page.status_code == 422
    assert f'id="id_{field}_error"' in page.content.decode()
    assert 'role="alert"' in page.content.decode()
    assert not Release.objects.exists()


def test_an_existing_module_needs_nothing_but_a_version_that_is_free(browser, published):
    published("acme/vpc/aws", "1.2.0")
    page = browser.get("/publish?namespace=acme&name=vpc&system=aws&version=1.3.0").text
    assert '<option value="acme/vpc/aws" selected>' in page
    assert 'value="1.3.0"' in page

    response = browser.post("/publish", {"module": "acme/vpc/aws", "version": "1.2.0"}, headers=JSON)
    assert response.status_code == 409
    assert "already published" in response.json()["errors"]["version"][0]
    response = browser.post("/publish", {"module": "acme/vpc/aws", "version": "1.3.0"}, headers=JSON)
    assert response.status_code == 201
    assert Release.objects.filter(name="vpc/aws", version="1.3.0").exists()


def test_a_link_to_a_module_that_is_not_there_yet_fills_in_its_parts(browser):
    response = browser.get("/publish/?namespace=acme&name=vpc&system=aws")
    assert (response.status_code, response.url) == (302, "/publish?namespace=acme&name=vpc&system=aws")
    page = browser.get(response.url).text
    assert '<option value="acme" selected>' in page
    assert 'value="vpc"' in page


def test_it_offers_what_one_may_publish_in(bob, olga, browser_of, published, hall):
    published("acme/vpc/aws", "1.2.0")
    page = pages.markup_of(browser_of(bob).get("/publish"))
    assert "No namespace to publish in" in page
    assert '<option value="acme"' not in page
    assert '<a href="/namespaces/acme/access">Request access to acme</a>' in page
    staff = browser_of(olga).get("/publish").text
    assert '<option value="acme"' in staff
    assert '<option value="hall"' in staff


def test_a_link_from_an_empty_namespace_offers_a_new_module(browser, published, acme, pantry, alice):
    """Of a namespace with modules these are first, and none is chosen."""
    Grant.objects.get_or_create(namespace=pantry, user=alice, defaults={"role": Role.PUBLISHER})
    published("acme/vpc/aws", "1.2.0")

    page = pages.markup_of(browser.get("/publish?namespace=pantry"))
    assert '<option value="new" selected>' in page
    assert '<option value="pantry" selected>' in page

    published("pantry/zebra/aws", "1.0.0")
    page = pages.markup_of(browser.get("/publish?namespace=pantry"))
    assert '<option value="new" selected>' not in page
    assert page.index('<option value="pantry/zebra/aws"') < page.index('<option value="acme/vpc/aws"')


def test_the_form_needs_its_csrf_token(alice):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert strict.post("/publish", NEW).status_code == 403


def test_the_page_costs_few_queries_however_many_modules_there_are(browser, acme, django_assert_max_num_queries):
    add_modules(acme, [f"m{number}/aws" for number in range(9)])
    with django_assert_max_num_queries(8):
        browser.get("/publish")
