"""`manage.py doctor` names what people connected to namespaces that they own no more."""

import pytest

from apps.accounts import namespaces
from apps.accounts.access import connections
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Grant, Role
from apps.accounts.people import accounts
from registry_site.operations import doctor
from tests.builders.connecting import KINDS, NAMES, connect_all, hand_over
from tests.cast import person

ALL = len(KINDS)


def found():
    finding, *more = doctor.left_behind()
    assert not more
    return finding.state, finding.found


@pytest.mark.both
def test_it_names_what_still_works_and_who_made_it_until_an_owner_confirms(acme, dora):
    eve = person("eve")
    grant = Grant.objects.create(namespace=acme, user=eve, role=Role.OWNER)
    rows = connect_all(acme, eve)
    assert found() == ("ok", "an owner answers for each that works")

    namespaces.withdraw(grant=grant, actor=NOBODY)

    state, text = found()
    assert state == "warn"
    assert text.startswith(f"{ALL} of people without the role owner: ")
    for name in NAMES:
        assert name in text
    for kind, row in rows.items():
        connections.confirm(namespace=acme, kind=kind, number=row.pk, actor=Viewer(dora))
    assert found()[0] == "ok"


def test_what_is_suspended_is_counted_and_no_warning(acme, dora, alice):
    connect_all(acme, dora)
    hand_over(acme, dora, alice)

    assert found() == (
        "ok",
        f"an owner answers for each that works; {ALL} suspended until an owner confirms them",
    )


def test_it_names_at_most_so_many(acme, dora, monkeypatch):
    monkeypatch.setattr(doctor, "MAX_CONNECTIONS", 1)
    connect_all(acme, dora)
    accounts.set_active(user=dora, actor=NOBODY, is_active=False)

    assert found()[1].endswith(f"(dora) and {ALL - 1} more")
