"""Signing in with OpenID Connect: what only this protocol has, and the accounts and groups of every protocol."""

import re
import threading
from urllib.parse import parse_qsl, urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount
from django.db import connection

from apps.accounts.models import GroupMapping, User
from apps.contrib.openid.tests import scripted as openid
from tests.accounts.identity import every_protocol
from tests.accounts.identity.sign_on import begin, viewer_of
from tests.pages import shown
from tests.rows import for_each_row

# The tests of accounts and groups, with `corp` below. One has `pytest.mark.both`.
globals().update({name: test for name, test in vars(every_protocol).items() if name.startswith("test_")})


@pytest.fixture
def corp(acme_id, settings):
    return every_protocol.Corp(acme_id, settings, acme_id.issuer)


def test_the_request_has_a_challenge_a_nonce_and_a_state_of_its_own(acme_id, browser):
    asked = [dict(parse_qsl(urlsplit(begin(browser())).query)) for _ in range(2)]
    for query in asked:
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        assert query["scope"] == "openid profile"
        assert query["redirect_uri"] == "https://127.0.0.1:8443/account/sign-on/corp/callback"
        assert "code_verifier" not in query
    for secret in ("state", "nonce", "code_challenge"):
        assert asked[0][secret] != asked[1][secret]


def test_the_browser_cannot_add_to_the_request(acme_id, browser):
    url = begin(browser(), "?auth_params=redirect_uri%3Dhttps://evil.example&scope=admin&process=connect")
    assert url.startswith(f"{acme_id.issuer}/authorize?")
    assert not {"evil", "admin", "max_age"} & set(re.split(r"\W+", url))


@pytest.mark.both
@for_each_row(
    ("wished", "name"),
    [
        ("Ünïcode@example.org", "unicode"),
        ("a b/c", "a-b-c"),
        ("forgotten-1", "user"),
        ("x" * 300, "x" * 50),
        ("名前", "user"),
        ("\0;--", "user"),
    ],
)
def test_user_names_fit_whatever_the_provider_says(sign_on, acme_id, wished, name):
    acme_id.person["preferred_username"] = wished
    client, _ = sign_on()
    assert viewer_of(client).username == name


def test_another_issuer_under_the_same_name_is_another_person(sign_on, acme_id, key, settings):
    first, _ = sign_on()
    with openid.running(key) as other:
        settings.IDENTITY_PROVIDERS = (other.provider(),)
        client, _ = sign_on()  # begins at `other`; its code is unknown there
        assert viewer_of(client) is None
        url = begin(client)
        assert url.startswith(other.issuer)
        client.get(other.consent(url))
        assert viewer_of(client) != viewer_of(first)
    assert SocialAccount.objects.count() == 2


def test_groups_that_the_id_token_lacks_come_from_userinfo(sign_on, acme_id):
    GroupMapping.objects.create(issuer=acme_id.issuer, group="ops", staff_role="Operator")
    del acme_id.person["groups"]
    acme_id.userinfo = {"groups": "ops"}
    client, _ = sign_on()
    assert viewer_of(client).is_staff


def test_a_list_of_groups_that_is_cut_off_ends_no_role(sign_on, acme_id):
    GroupMapping.objects.create(issuer=acme_id.issuer, group="ops", staff_role="Operator")
    acme_id.person["groups"] = ["ops"]
    client, _ = sign_on()
    del acme_id.person["groups"]
    acme_id.person["_claim_names"] = {"groups": "src1"}
    _, answer = sign_on()
    assert answer.status_code == 400
    assert viewer_of(client).is_staff


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_a_first_sign_on_in_two_browsers_at_once_makes_one_account(acme_id, browser):
    """Both threads have seen that there is no account."""
    clients = [browser() for _ in range(4)]
    ways = [acme_id.consent(begin(client)) for client in clients]
    statuses = []

    def finish(client, way):
        statuses.append(client.get(way).status_code)
        connection.close()

    threads = [threading.Thread(target=finish, args=pair) for pair in zip(clients, ways, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [302] * 4
    assert [user.username for user in User.objects.all()] == ["ann"]


def test_the_form_of_the_sign_in_page_leads_home_where_nothing_was_asked_for(acme_id, browser):
    client = browser()
    form = re.search(
        r'<form method="post" action="/account/sign-on/corp/">(.*?)</form>', shown(client.get("/account/login/"))
    )
    assert form
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[1]))
    assert client.get(acme_id.consent(begin(client, **fields))).url == "/"


def test_a_relative_address_is_no_page_to_come_back_to(sign_on):
    _, back = sign_on(next="None")
    assert back.url == "/"
