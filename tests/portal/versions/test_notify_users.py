"""/modules/<address>/usage/notify: an owner writes to the people who use some versions."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Role, User
from apps.accounts.people import service_accounts, teams
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.notify import outbox
from apps.notify.models import Delivery, Letter, Watch, Webhook
from apps.releases.models import Fetch, Lifecycle, Release
from tests import pages
from tests.modules.dependents.rows import calls
from tests.portal.rows import add_module

pytestmark = pytest.mark.both

URL = "/modules/acme/vpc/aws/usage/notify"
TEXT = "Move to 2.0.0 before March."


@pytest.fixture
def vpc(acme):
    add_module(acme, "vpc/aws", "1.0.0", "2.0.0")
    Release.objects.filter(version="1.0.0").update(lifecycle=Lifecycle.DEPRECATED, lifecycle_at=timezone.now())


@pytest.fixture
def owner(dora, browser_of):
    return browser_of(dora)


def downloaded(user: User, version: str, days: int = 1) -> None:
    release = Release.objects.get(name="vpc/aws", version=version)
    Fetch.objects.create(release=release, user=user, last_on=timezone.now().date() - timedelta(days=days), count=1)


def written_to() -> list[str]:
    User.objects.update(email="somebody@example.com")
    outbox.dispatch()
    return sorted(Letter.objects.values_list("user__username", flat=True))


def test_it_writes_to_those_who_use_the_deprecated_versions(owner, vpc, acme, alice, bob, charlie, dora):
    downloaded(bob, "1.0.0")
    downloaded(alice, "1.0.0", days=91)
    downloaded(charlie, "2.0.0")
    downloaded(dora, "1.0.0")
    page = pages.markup_of(owner.get(URL))
    assert 'Recipients <span class="count">1</span>' in page
    assert "<p>bob</p>" in page

    answer = owner.post(URL, {"message": TEXT})

    assert (answer.status_code, answer["Location"]) == (303, "/modules/acme/vpc/aws/usage")
    assert "The message to 1 person is on its way." in pages.markup_of(owner.get(answer["Location"]))
    assert written_to() == ["bob"]
    [letter] = Letter.objects.all()
    assert letter.subject == "dora writes to the users of acme/vpc/aws"
    assert TEXT in letter.text
    [event] = AuditEvent.objects.filter(kind=Kind.USAGE_NOTIFIED)
    assert (event.subject, event.detail["people"], event.detail["message"]) == ("acme/vpc/aws", [bob.pk], TEXT)


def test_one_version_has_its_own_recipients_and_a_webhook_is_told(owner, vpc, acme, bob, charlie, dora):
    downloaded(bob, "1.0.0")
    downloaded(charlie, "2.0.0")
    Webhook.objects.create(namespace=acme, url="https://hooks.example.com/", events=["usage.notified"], created_by=dora)

    assert owner.post(f"{URL}?version=2.0.0", {"message": TEXT}).status_code == 303

    assert written_to() == ["charlie"]
    [delivery] = Delivery.objects.all()
    assert '"type":"usage.notified"' in delivery.body
    assert '"address":"acme/vpc/aws","version":"2.0.0"' in delivery.body
    assert f'"message":"{TEXT}"' in delivery.body
    assert "people" not in delivery.body
    assert owner.get(f"{URL}?version=3.0.0").status_code == 404


def test_managers_stand_for_service_accounts_and_owners_for_modules_that_call_it(
    owner, vpc, acme, pantry, alice, bob, charlie
):
    """Alice manages the team of a machine that downloaded it, Bob owns a caller, Charlie only watches."""
    team = teams.create(name="cooks", actor=Viewer(alice))
    downloaded(service_accounts.create(team=team, name="ci", actor=Viewer(alice)), "1.0.0")
    calls(add_module(pantry, "app/aws"), "acme/vpc/aws", constraint="1.0.0")
    Grant.objects.create(namespace=pantry, user=bob, role=Role.OWNER)
    Grant.objects.create(namespace=acme, user=charlie, role=Role.READER)
    Watch.objects.create(user=charlie, namespace=acme, name="vpc/aws")

    assert owner.post(URL, {"message": TEXT}).status_code == 303
    assert written_to() == ["alice", "bob", "charlie"]


def test_names_of_strangers_are_not_shown(owner, vpc, charlie):
    downloaded(charlie, "1.0.0")
    page = pages.markup_of(owner.get(URL))
    assert 'Recipients <span class="count">1</span>' in page
    assert "charlie" not in page
    assert "their names are not shown" in page


def test_three_messages_a_day_are_the_maximum_and_the_text_is_kept(owner, vpc, bob):
    downloaded(bob, "1.0.0")
    assert [owner.post(URL, {"message": TEXT}).status_code for _ in range(3)] == [303] * 3

    answer = owner.post(f"{URL}?version=1.0.0", {"message": TEXT})

    assert answer.status_code == 422
    assert "already got 3 messages within a day" in pages.markup_of(answer)
    assert TEXT in pages.markup_of(answer)
    assert AuditEvent.objects.filter(kind=Kind.USAGE_NOTIFIED).count() == 3


def test_without_users_there_is_nothing_to_send(owner, vpc):
    assert "No one is known to use these versions." in pages.markup_of(owner.get(URL))
    assert owner.post(URL, {"message": TEXT}).status_code == 422


def test_only_owners_may(vpc, alice, bob, browser_of):
    for user in (alice, bob):
        assert browser_of(user).get(URL).status_code == 403
        assert browser_of(user).post(URL, {"message": TEXT}).status_code == 403
