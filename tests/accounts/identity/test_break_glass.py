"""A link that signs an operator in while identity providers do not."""

import re
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from apps.accounts.identity import break_glass
from apps.accounts.models import User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.errors import NotFound
from tests.accounts.identity.sign_on import browser
from tests.accounts.identity.test_second_factor import signed_in

__all__ = ["browser"]


@pytest.fixture
def glass(settings, capsys):
    settings.LOCAL_SIGN_IN = "off"

    def link(name):
        call_command("break_glass", name)
        return re.sub(r"^https://[^/]+", "", capsys.readouterr().out.strip())

    return link


def test_a_link_from_the_host_signs_an_operator_in_once(browser, glass, olga, event_kinds):
    link, client = glass("olga"), browser()
    assert "Sign in as olga?" in client.get(link).content.decode()
    assert not signed_in(client)  # to look at it is not to use it
    assert client.post(link).url == "/account/"
    assert signed_in(client)
    other = browser()
    assert (other.get(link).status_code, other.post(link).status_code) == (404, 404)
    assert event_kinds() == [
        "account:user:break-glass-issued",
        "account:user:break-glass-used",
        "account:user:signed-in",
    ]


def test_a_link_ends_after_ten_minutes_and_with_the_account(browser, glass, olga, time_machine):
    link = glass("olga")
    time_machine.move_to(timezone.now() + timedelta(seconds=601))
    assert browser().get(link).status_code == 404
    link = glass("olga")
    User.objects.update(is_active=False)
    assert browser().post(link).status_code == 404
    assert browser().get("/account/break-glass/forged:1:2").status_code == 404


def test_of_two_uses_at_once_one_signs_in(olga, monkeypatch):
    """Both have read the account before either has signed in."""
    secret = break_glass.issue(olga)
    both = [break_glass.user_of(secret) for _ in range(2)]
    monkeypatch.setattr(break_glass, "user_of", lambda _: both.pop())

    assert break_glass.use(secret) == olga
    with pytest.raises(NotFound):
        break_glass.use(secret)
    assert AuditEvent.objects.filter(kind=Kind.BREAK_GLASS_USED).count() == 1


def test_links_are_for_staff(db, bob):
    with pytest.raises(Exception, match="bob is not staff"):
        call_command("break_glass", "bob")
