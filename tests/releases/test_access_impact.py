"""What people and machines lose when a role, a team, a member or a machine that publishes is taken away."""

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Membership, Role, Team
from apps.accounts.people import service_accounts, teams
from apps.releases.lifecycle.access_impact import of_grant, of_machine, of_membership, of_team
from tests.cast import person


@pytest.fixture
def cooks(cooks, acme, hall) -> Team:
    """They publish in acme, which is private, and in hall, which is not."""
    for space in (acme, hall):
        Grant.objects.create(namespace=space, team=cooks, role=Role.PUBLISHER)
    return cooks


def read(found):
    return [(hit.name, str(hit.effect), hit.gets, hit.note) for hit in found.hits]


def test_a_person_loses_what_no_other_grant_gives_them(acme, dora, bob):
    Grant.objects.filter(user=bob).update(role=Role.PUBLISHER)
    grant = Grant.objects.get(user=bob)

    assert read(of_grant(Viewer(dora), grant)) == [("bob", "fails", "", "publisher of acme")]
    assert of_grant(Viewer(dora), grant).worst == "1 account loses access."

    readers = teams.create(name="readers", actor=Viewer(dora))
    teams.add(team=readers, user=bob, actor=Viewer(dora))
    theirs = Grant.objects.create(namespace=acme, team=readers, role=Role.READER)
    assert read(of_grant(Viewer(dora), grant)) == [("bob", "moves", "reader", "publisher of acme")]
    assert read(of_grant(Viewer(dora), theirs)) == [
        ("bob", "keeps", "", "publisher of acme"),
        ("dora", "keeps", "", "owner of acme"),
    ]
    assert not Grant.objects.filter(pk=grant.pk, role=Role.READER).exists()


def test_a_team_is_weighed_in_each_of_its_namespaces_and_its_machines_end(cooks, dora, charlie):
    machine = service_accounts.create(team=cooks, name="ci", actor=Viewer(dora))
    tokens.issue(user=machine, label="nightly", scope="publish", actor=Viewer(dora))
    used = timezone.now()
    ApiToken.objects.filter(user=machine).update(last_used_at=used)

    found = of_team(Viewer(dora), cooks)

    assert read(found) == [
        ("charlie", "fails", "", "publisher of acme"),
        ("charlie", "moves", "reader", "publisher of hall"),
        ("cooks.ci[bot]", "fails", "", "publisher of acme"),
        ("cooks.ci[bot]", "fails", "", "publisher of hall"),
        ("dora", "keeps", "", "owner of acme"),
        ("dora", "moves", "reader", "publisher of hall"),
    ]
    assert {hit.at for hit in found.hits if hit.name == machine.username} == {used}


def test_a_member_who_leaves_takes_no_one_along(cooks, dora, charlie):
    membership = Membership.objects.get(team=cooks, user=charlie)

    assert {hit.name for hit in of_membership(Viewer(dora), membership).hits} == {"charlie"}
    assert of_membership(Viewer(dora), None).hits_no_one


def test_people_whom_the_viewer_does_not_know_are_counted_and_not_named(pantry, bob):
    hidden = teams.create(name="hidden", actor=Viewer(person("erin")))
    grant = Grant.objects.create(namespace=pantry, team=hidden, role=Role.OWNER)

    found = of_grant(Viewer(bob), grant)

    assert read(found) == []
    assert found.moves == 1


def test_a_machine_leaves_what_it_published_without_new_versions(published, alice):
    release = published()

    [hit] = of_machine(alice).hits
    assert (hit.kind, hit.name, hit.note, hit.at) == (
        "module",
        "acme/vpc/aws",
        "1 version so far",
        release.published_at,
    )
    assert hit.url == "/modules/acme/vpc/aws"


def test_many_members_cost_no_more_queries(cooks, dora, django_assert_max_num_queries):
    for number in range(20):
        teams.add(team=cooks, user=person(f"cook-{number}"), actor=Viewer(dora))

    with django_assert_max_num_queries(7):
        assert len(of_team(Viewer(dora), cooks).hits) == 44
