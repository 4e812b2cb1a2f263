"""/namespaces/<name>"""

import pytest

from apps.accounts.models import Grant, Membership, Role, Team, User
from apps.providers import catalogue
from tests import pages
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module, add_modules
from tests.rows import for_each_row


def test_visitors_see_public_modules_and_not_who_works_on_them(client, pantry, alice):
    add_module(pantry, "label/null", "1.0.0")

    page = pages.markup_of(client.get("/namespaces/pantry"))

    assert "/modules/pantry/label/null" in page
    assert "member" not in page


@pytest.mark.parametrize(
    ("who", "publishes", "manages"),
    [("bob", False, False), ("alice", True, False), ("dora", True, True), ("olga", True, True)],
)
def test_it_offers_what_the_role_allows(request, browser_of, acme, who, publishes, manages):
    page = pages.markup_of(browser_of(request.getfixturevalue(who)).get("/namespaces/acme"))

    assert ('href="/publish?namespace=acme"' in page) is publishes
    assert ('href="/namespaces/acme/members"' in page) is manages


def test_it_tells_members_their_role_and_number(browser_of, alice, bob, dora):
    page = pages.markup_of(browser_of(bob).get("/namespaces/acme"))

    assert "3 members" in page
    assert "You act as reader" in page


def test_readers_see_who_owns_it_and_a_refusal_names_them(browser_of, tofu, bob, dora, charlie, acme, pantry):
    cooks = Team.objects.create(name="cooks")
    Membership.objects.create(team=cooks, user=dora)
    Grant.objects.create(namespace=acme, team=cooks, role=Role.OWNER)
    retired = User.objects.create_user("retired", is_active=False)
    Grant.objects.create(namespace=acme, user=retired, role=Role.OWNER)

    assert "Owned by dora, the team cooks</span>" in pages.markup_of(browser_of(bob).get("/namespaces/acme"))
    refused = tofu(bob).post("/api/v1/providers/acme/dns/1.0.0").json()["error"]
    assert refused["hint"] == "Ask an owner of acme for the role publisher: dora, the team cooks."
    assert "No active owner" in pages.markup_of(browser_of(charlie).get("/namespaces/pantry"))
    refused = tofu(charlie).post("/api/v1/providers/pantry/dns/1.0.0").json()["error"]
    assert "pantry has no active owner: ask an operator" in refused["hint"]


def test_it_counts_modules_and_providers(client, pantry):
    add_module(pantry, "label/null", "1.0.0")
    catalogue.refresh(provider_version(pantry, "dns", "1.0.0", key=row_of_key(pantry, 1)).provider)
    page = pages.markup_of(client.get("/namespaces/pantry"))

    assert "1 module</span>" in page
    assert "1 provider</span>" in page
    assert "Owned by" not in page, "who works here is for those who are signed in"


@pytest.mark.slow
@for_each_row("count", [10, 300])
def test_it_costs_the_same_at_any_size(browser_of, bob, acme, django_user_model, django_assert_max_num_queries, count):
    add_modules(acme, [f"part-{position}/aws" for position in range(count)])
    people = django_user_model.objects.bulk_create(
        [django_user_model(username=f"person-{position}") for position in range(count)]
    )
    Grant.objects.bulk_create([Grant(namespace=acme, user=one, role=Role.READER) for one in people])
    browser = browser_of(bob)

    with django_assert_max_num_queries(10):
        assert browser.get("/namespaces/acme").status_code == 200
