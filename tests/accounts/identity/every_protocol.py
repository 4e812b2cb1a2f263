"""Signing in at an identity provider: whose account it is, and what the groups give.

The rooms that speak a protocol run these tests, each with its `corp`.
"""

from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount

from apps.accounts.models import GroupMapping, Membership, Team, User
from apps.audit.models import AuditEvent
from tests.accounts.identity.sign_on import by_password, viewer_of
from tests.pages import text_of
from tests.rows import for_each_row


class Corp:
    """A provider of one protocol that the settings name `corp`."""

    words = {"name": "name", "email": "email", "username": "preferred_username", "groups": "groups"}

    def __init__(self, scripted: Any, settings: Any, issuer: str) -> None:
        self.scripted, self.settings, self.issuer = scripted, settings, issuer
        self.allow(new_accounts="everyone")

    def allow(self, *, new_accounts: str) -> None:
        self.settings.IDENTITY_PROVIDERS = (self.scripted.provider(new_accounts=new_accounts),)

    def says(self, **about: Any) -> None:
        """Of the person, from the next answer on."""
        self.scripted.person |= {self.words[word]: value for word, value in about.items()} | {"email_verified": True}

    def finish(self, client: Any, url: str) -> Any:
        return client.get(self.scripted.consent(url))


def test_the_first_sign_on_makes_an_account_and_the_second_finds_it(sign_on, corp, event_kinds):
    corp.says(name="Ann Example", email="ann@example.org")
    first, answer = sign_on(next="/teams")
    assert (answer.status_code, answer.url) == (302, "/teams")
    ann = viewer_of(first)
    second, _ = sign_on()

    assert viewer_of(second) == ann
    assert (ann.username, ann.get_full_name(), ann.email) == ("ann", "Ann Example", "")
    assert not ann.has_usable_password()
    assert (ann.is_staff, ann.is_superuser) == (False, False)
    row = SocialAccount.objects.get()
    assert (row.provider, row.uid, row.extra_data) == (corp.issuer, "a-1", {})
    assert event_kinds() == ["account:user:joined", "account:user:signed-in", "account:user:signed-in"]


@pytest.mark.both
def test_an_equal_name_or_address_takes_nobody_over(sign_on, corp, bob):
    User.objects.filter(pk=bob.pk).update(email="bob@example.org")
    corp.says(username="bob", email="bob@example.org")
    client, _ = sign_on()
    assert viewer_of(client).username == "bob-2"


@for_each_row("new_accounts", ["groups", "nobody"])
def test_who_has_no_account_and_may_not_get_one_is_refused(sign_on, corp, new_accounts):
    corp.allow(new_accounts=new_accounts)
    client, answer = sign_on()
    assert answer.status_code == 403
    assert viewer_of(client) is None
    assert not User.objects.exists()
    event = AuditEvent.objects.get()
    assert event.kind == "account:user:sign-in-failed"
    assert event.detail["issuer"] == corp.issuer


def test_groups_become_teams_and_end_with_them(sign_on, corp, dora):
    corp.allow(new_accounts="groups")
    cooks, bakers = (Team.objects.create(name=name) for name in ("cooks", "bakers"))
    for group, team in (("Kitchen", cooks), ("Oven", bakers)):
        GroupMapping.objects.create(issuer=corp.issuer, group=group, team=team)
    GroupMapping.objects.create(issuer="https://elsewhere.example", group="Other", team=bakers)
    corp.says(groups=["Kitchen", "Other", "unknown"])
    client, _ = sign_on()
    ann = viewer_of(client)
    assert set(ann.memberships.values_list("team__name", flat=True)) == {"cooks"}
    Membership.objects.update(is_manager=True)  # the last manager loses the team as well

    corp.says(groups=["Oven"])
    sign_on()
    assert set(ann.memberships.values_list("team__name", flat=True)) == {"bakers"}
    corp.says(groups=[])
    sign_on()
    assert not ann.memberships.exists()
    removed = AuditEvent.objects.filter(kind="team:member:removed").order_by("pk")
    assert [event.detail["by"] for event in removed] == ["sign-on", "sign-on"]


def test_what_somebody_has_by_hand_stays(sign_on, corp):
    cooks = Team.objects.create(name="cooks")
    client, _ = sign_on()
    Membership.objects.create(team=cooks, user=viewer_of(client))
    GroupMapping.objects.create(issuer=corp.issuer, group="Kitchen", team=cooks)
    for groups in (["Kitchen"], []):
        corp.says(groups=groups)
        sign_on(client)
    assert Membership.objects.filter(team=cooks).exists()


def test_groups_make_staff_and_unmake_it(sign_on, corp):
    for group, role in (("ops", "Operator"), ("watch", "Auditor")):
        GroupMapping.objects.create(issuer=corp.issuer, group=group, staff_role=role)
    found = []
    for groups in (["watch"], ["ops", "watch"], ["watch"], []):
        corp.says(groups=groups)
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


def test_a_superuser_stays_one_whatever_the_groups_say(sign_on, corp, olga):
    GroupMapping.objects.create(issuer=corp.issuer, group="ops", staff_role="Auditor")
    SocialAccount.objects.create(user=olga, provider=corp.issuer, uid="a-1")
    for groups in (["ops"], []):
        corp.says(groups=groups)
        sign_on()
    olga.refresh_from_db()
    assert olga.is_staff
    assert olga.is_superuser
    assert not olga.groups.exists()


def test_who_is_deactivated_stays_out(sign_on, corp):
    client, _ = sign_on()
    User.objects.update(is_active=False)
    other, answer = sign_on()
    assert answer.status_code == 403
    assert viewer_of(other) is viewer_of(client) is None


@for_each_row("after", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_it_leads_nowhere_else(sign_on, after):
    _, answer = sign_on(next=after)
    assert answer.url == "/"


def test_bob_connects_his_account_and_signs_in_both_ways(sign_on, corp, browser, bob):
    client, _ = by_password(browser, bob)
    assert "Connect Acme ID" in text_of(client.get("/account/"))
    _, answer = sign_on(client, process="connect")
    assert answer.url == "/account/"
    assert SocialAccount.objects.get().user == bob
    assert viewer_of(sign_on()[0]) == bob
    assert AuditEvent.objects.filter(kind="account:identity:connected", actor_id=bob.pk).exists()

    GroupMapping.objects.create(issuer=corp.issuer, group="Kitchen", team=Team.objects.create(name="cooks"))
    corp.says(groups=["Kitchen"])
    sign_on()
    assert bob.memberships.exists()
    answer = client.post(f"/account/identities/{SocialAccount.objects.get().pk}/disconnect")
    assert (answer.status_code, answer.url) == (303, "/account/")
    assert not SocialAccount.objects.exists()
    assert not bob.memberships.exists()
