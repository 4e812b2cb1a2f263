"""Repositories among the connections of a namespace: who answers for one, and its pages after a transfer."""

import pytest

from apps.accounts.access import connections
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Role
from apps.contrib.git import connecting
from apps.contrib.git.tests.house import RULES, connect
from apps.lib.errors import NotFound
from tests.builders.connecting import hand_over, suspended
from tests.cast import person

KIND = "git-repository"
URL = "/namespaces/acme"


@pytest.mark.both
def test_who_changed_one_answers_for_it_as_well(acme, dora, alice):
    eve = person("eve")
    Grant.objects.create(namespace=acme, user=eve, role=Role.OWNER)
    repository = connect(acme, dora, "vpc")
    connecting.change(repository=repository, actor=Viewer(eve), poll_minutes=5)

    hand_over(acme, eve, alice, actor=dora)

    assert suspended(acme) == [KIND]
    assert connections.one_of(acme, KIND, repository.pk).names == ["dora", "eve"]


@pytest.mark.both
def test_a_former_owner_whose_request_was_let_in_before_changes_nothing(acme, dora, alice):
    """The gate has answered before the transfer, and the verb runs after it."""
    repository, late = connect(acme, dora, "vpc"), Viewer(dora)
    hand_over(acme, dora, alice)

    for act in (
        lambda: connecting.change(repository=repository, actor=late, rules=RULES),
        lambda: connecting.renew_hook_secret(repository=repository, actor=late),
    ):
        with pytest.raises(NotFound):
            act()
    assert suspended(acme) == [KIND]


def test_the_new_owner_sees_it_as_suspended_and_confirms_it(acme, dora, alice, tofu, browser_of):
    number = connect(acme, dora, "vpc").pk
    hand_over(acme, dora, alice)
    browser, page = browser_of(alice), f"{URL}/git/{number}"
    button = f"{URL}/connections/{KIND}/{number}/confirm"

    assert tofu(alice).get(f"/api/v1/namespaces/acme/repositories/{number}").json()["state"] == "suspended"
    assert "Suspended" in browser.get(page).text
    assert button in browser.get(page).text
    assert "is confirmed. It works again" in browser.post(button, follow=True).text
    assert "Suspended" not in browser.get(page, follow=True).text


def test_a_publisher_sees_that_it_is_suspended_and_no_button(acme, dora, alice, bob, browser_of):
    repository = connect(acme, dora, "vpc")
    hand_over(acme, dora, bob)

    page = browser_of(alice).get(f"{URL}/git/{repository.pk}").text

    assert "Suspended" in page
    assert "/confirm" not in page
    assert "Suspended</span>" in browser_of(alice).get(f"{URL}/git").text
