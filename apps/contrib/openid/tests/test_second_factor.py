"""A second factor beside single sign-on: asked for here, or at the provider where a setting says so."""

import dataclasses
import time

import pytest
from allauth.socialaccount.models import SocialAccount

from tests.accounts.identity.sign_on import begin
from tests.accounts.identity.test_second_factor import PAGE, code_of, fresh_cache, set_up, signed_in
from tests.accounts.identity.test_second_factor_attacks import CONFIRM, leads_to
from tests.rows import for_each_row
from tests.sessions import sign_in

__all__ = ["fresh_cache"]


def test_single_sign_on_asks_as_well_and_remembers_the_provider(sign_on, acme_id, browser):
    acme_id.person |= {"auth_time": int(time.time()), "sid": "s1"}
    client, _ = sign_on()
    secret, _ = set_up(client)
    other = browser()
    answer = other.get(acme_id.consent(begin(other, next="/teams")))
    assert answer.url == "/account/verify/"
    assert not signed_in(other)
    assert other.post(answer.url, {"code": code_of(secret)}).url == "/teams"
    assert other.session["sign-on"] == {"issuer": acme_id.issuer, "sid": "s1"}


@pytest.fixture
def ann(acme_id, browser, sign_on, settings):
    """Comes from the provider and has set up an app: a later browser of hers, and the app's secret."""
    settings.IDENTITY_PROVIDERS = (acme_id.provider(second_factors=frozenset({"mfa"})),)
    acme_id.person |= {"auth_time": int(time.time())}
    client, _ = sign_on()
    secret, _ = set_up(client)
    return sign_in(browser(), SocialAccount.objects.get().user, confirmed=False), secret


@for_each_row(("amr", "counts"), [(["pwd", "mfa"], True), (["pwd"], False)])
def test_a_sign_on_counts_only_if_the_provider_asked_for_a_second_factor(ann, acme_id, amr, counts):
    client, _ = ann
    page = client.get(client.get(PAGE).url).text
    assert ("Confirm with" in page, 'name="code"' in page) == (True, True)
    acme_id.person |= {"amr": amr, "auth_time": int(time.time())}
    assert client.get(acme_id.consent(begin(client, process="confirm", next=PAGE))).url == PAGE
    assert (client.get(PAGE).status_code == 200) == counts


def test_a_provider_that_tells_of_no_second_factor_is_not_offered(ann, acme_id, settings):
    client, secret = ann
    settings.IDENTITY_PROVIDERS = (acme_id.provider(),)
    asked = client.get(PAGE)
    page = client.get(asked.url).text
    assert ("/account/sign-on/" in page, 'name="code"' in page) == (False, True)
    assert client.post(asked.url, {"code": code_of(secret)}).url == PAGE


def test_identities_are_connected_and_disconnected_with_a_factor(acme_id, browser, bob, settings):
    """An identity of the attacker's would confirm for bob, if its provider counts as a second factor."""
    settings.IDENTITY_PROVIDERS = (acme_id.provider(second_factors=frozenset({"mfa"})),)
    victim = sign_in(browser(), bob)
    secret, _ = set_up(victim)
    client = sign_in(browser(), bob)
    asked = f"{CONFIRM}?next=%2Faccount%2F&by=factor"
    assert leads_to(client.post("/account/sign-on/corp/", {"process": "connect"})) == asked
    row = SocialAccount.objects.create(user=bob, provider=acme_id.issuer, uid="b-1")
    assert leads_to(client.post(f"/account/identities/{row.pk}/disconnect")) == asked
    assert SocialAccount.objects.filter(pk=row.pk).exists()
    client.post(asked, {"code": code_of(secret)})
    assert client.post(f"/account/identities/{row.pk}/disconnect").status_code == 303


@for_each_row(
    ("claims", "is_enough"),
    [
        ({"amr": ["pwd", "mfa"]}, True),
        ({"acr": "gold"}, True),
        ({"amr": ["pwd"], "acr": "1"}, False),
        ({"amr": "mfa"}, False),
        ({"amr": [["mfa"], None], "acr": {"mfa": 1}}, False),
        ({}, False),
    ],
    ids=str,
)
def test_a_second_factor_at_the_provider_counts_where_a_setting_says_so(acme_id, sign_on, settings, claims, is_enough):
    settings.SECOND_FACTOR = "everyone"
    settings.IDENTITY_PROVIDERS = (dataclasses.replace(acme_id.provider(), second_factors=frozenset({"mfa", "gold"})),)
    acme_id.person |= claims
    client, _ = sign_on()
    assert signed_in(client) == is_enough
    settings.IDENTITY_PROVIDERS = (acme_id.provider(),)
    assert not signed_in(sign_on()[0]), "without the setting none of them does"


def test_a_session_gets_it_by_a_new_sign_in_at_the_provider(acme_id, sign_on, settings):
    settings.SECOND_FACTOR = "everyone"
    settings.IDENTITY_PROVIDERS = (dataclasses.replace(acme_id.provider(), second_factors=frozenset({"mfa"})),)
    client, _ = sign_on()
    assert not signed_in(client)
    acme_id.person |= {"amr": ["mfa"], "auth_time": int(time.time())}
    assert client.get(acme_id.consent(begin(client, process="confirm", next="/teams"))).url == "/teams"
    assert signed_in(client)
