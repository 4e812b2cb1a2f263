"""Signing in at an identity provider: whose account it is, and what the groups give."""

import re
import threading
from urllib.parse import parse_qsl, urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount
from django.db import connection

from apps.accounts.models import GroupMapping, Membership, Team, User
from apps.audit.models import AuditEvent
from tests.accounts.identity.openid.conftest import begin
from tests.builders import openid

pytestmark = pytest.mark.both


def viewer_of(client):
    page = client.get("/account/")
    return page.context["frame"].viewer.user if page.status_code == 200 else None


def test_the_first_sign_on_makes_an_account_and_the_second_finds_it(sign_on, acme_id, event_kinds):
    acme_id.person |= {"name": "Ann Example", "email": "ann@example.org"}
    first, answer = sign_on(next="/teams")
    assert (answer.status_code, answer.url) == (302, "/teams")
    ann = viewer_of(first)
    second, _ = sign_on()

    assert viewer_of(second) == ann
    assert (ann.username, ann.get_full_name(), ann.email) == ("ann", "Ann Example", "")
    assert not ann.has_usable_password()
    assert (ann.is_staff, ann.is_superuser) == (False, False)
    row = SocialAccount.objects.get()
    assert (row.provider, row.uid, row.extra_data) == (acme_id.issuer, "a-1", {})
    assert event_kinds() == ["account:user:joined", "account:user:signed-in", "account:user:signed-in"]


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


def test_an_equal_name_or_address_takes_nobody_over(sign_on, acme_id, bob):
    User.objects.filter(pk=bob.pk).update(email="bob@example.org")
    acme_id.person |= {"preferred_username": "bob", "email": "bob@example.org", "email_verified": True}
    client, _ = sign_on()
    assert viewer_of(client).username == "bob-2"


@pytest.mark.parametrize(
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
        settings.OIDC_PROVIDERS = (other.provider(),)
        client, _ = sign_on()  # begins at `other`; its code is unknown there
        assert viewer_of(client) is None
        url = begin(client)
        assert url.startswith(other.issuer)
        client.get(other.consent(url))
        assert viewer_of(client) != viewer_of(first)
    assert SocialAccount.objects.count() == 2


@pytest.mark.parametrize("new_accounts", ["groups", "nobody"])
def test_who_has_no_account_and_may_not_get_one_is_refused(sign_on, acme_id, settings, new_accounts):
    settings.OIDC_PROVIDERS = (acme_id.provider(new_accounts=new_accounts),)
    client, answer = sign_on()
    assert answer.status_code == 403
    assert viewer_of(client) is None
    assert not User.objects.exists()
    event = AuditEvent.objects.get()
    assert event.kind == "account:user:sign-in-failed"
    assert event.detail["issuer"] == acme_id.issuer


def test_groups_become_teams_and_end_with_them(sign_on, acme_id, settings, dora):
    settings.OIDC_PROVIDERS = (acme_id.provider(new_accounts="groups"),)
    cooks, bakers = (Team.objects.create(name=name) for name in ("cooks", "bakers"))
    for group, team in (("Kitchen", cooks), ("Oven", bakers)):
        GroupMapping.objects.create(issuer=acme_id.issuer, group=group, team=team)
    GroupMapping.objects.create(issuer="https://elsewhere.example", group="Other", team=bakers)
    acme_id.person["groups"] = ["Kitchen", "Other", "unknown"]
    client, _ = sign_on()
    ann = viewer_of(client)
    assert set(ann.memberships.values_list("team__name", flat=True)) == {"cooks"}
    Membership.objects.update(is_manager=True)  # the last manager loses the team as well

    acme_id.person["groups"] = ["Oven"]
    sign_on()
    assert set(ann.memberships.values_list("team__name", flat=True)) == {"bakers"}
    acme_id.person["groups"] = []
    sign_on()
    assert not ann.memberships.exists()
    removed = AuditEvent.objects.filter(kind="team:member:removed").order_by("pk")
    assert [event.detail["by"] for event in removed] == ["sign-on", "sign-on"]


def test_what_somebody_has_by_hand_stays(sign_on, acme_id):
    cooks = Team.objects.create(name="cooks")
    client, _ = sign_on()
    Membership.objects.create(team=cooks, user=viewer_of(client))
    GroupMapping.objects.create(issuer=acme_id.issuer, group="Kitchen", team=cooks)
    for groups in (["Kitchen"], []):
        acme_id.person["groups"] = groups
        sign_on(client)
    assert Membership.objects.filter(team=cooks).exists()


def test_groups_make_staff_and_unmake_it(sign_on, acme_id):
    for group, role in (("ops", "Operator"), ("watch", "Auditor")):
        GroupMapping.objects.create(issuer=acme_id.issuer, group=group, staff_role=role)
    found = []
    for groups in (["watch"], ["ops", "watch"], ["watch"], []):
        acme_id.person["groups"] = groups
        client, _ = sign_on()
        ann = viewer_of(client)
        found.append((ann.is_staff, [group.name for group in ann.groups.all()], client.get("/admin/").status_code))
    assert found == [
        (True, ["Auditor"], 200),
        (True, ["Operator"], 200),
        (True, ["Auditor"], 200),
        (False, [], 302),
    ]
    assert AuditEvent.objects.filter(kind="account:user:changed", actor_id=None).count() == 4


def test_a_superuser_stays_one_whatever_the_groups_say(sign_on, acme_id, olga):
    GroupMapping.objects.create(issuer=acme_id.issuer, group="ops", staff_role="Auditor")
    SocialAccount.objects.create(user=olga, provider=acme_id.issuer, uid="a-1")
    for groups in (["ops"], []):
        acme_id.person["groups"] = groups
        sign_on()
    olga.refresh_from_db()
    assert olga.is_staff
    assert olga.is_superuser
    assert not olga.groups.exists()


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


def test_who_is_deactivated_stays_out(sign_on, acme_id):
    client, _ = sign_on()
    User.objects.update(is_active=False)
    other, answer = sign_on()
    assert answer.status_code == 403
    assert viewer_of(other) is viewer_of(client) is None


@pytest.mark.parametrize("after", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_it_leads_nowhere_else(sign_on, after):
    _, answer = sign_on(next=after)
    assert answer.url == "/"


@pytest.mark.django_db(transaction=True)
def test_a_first_sign_on_in_two_browsers_at_once_makes_one_account(acme_id, browser):
    """As threads: both have seen that there is no account."""
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
