"""/modules/<address>/usage/notify: an owner writes to the people who use some versions."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Namespace, Role, User, Visibility
from apps.accounts.people import service_accounts, teams
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.notify import outbox
from apps.notify.models import Letter, LetterState, Preference, Topic, Watch
from apps.releases.models import Fetch, Lifecycle, Release
from tests import pages
from tests.modules.dependents.rows import calls
from tests.portal.rows import add_module

URL = "/modules/acme/vpc/aws/usage/notify"
TEXT = "Move to 2.0.0 before March."


@pytest.fixture
def vpc(acme):
    add_module(acme, "vpc/aws", "1.0.0", "2.0.0")
    Namespace.objects.filter(pk=acme.pk).update(visibility=Visibility.INTERNAL)
    Release.objects.filter(version="1.0.0").update(lifecycle=Lifecycle.DEPRECATED, lifecycle_at=timezone.now())


@pytest.fixture(autouse=True)
def _mail(settings, alice, bob, charlie, dora):
    """A mail server, and people who have addresses."""
    settings.SMTP = {"host": "127.0.0.1", "port": 1}
    User.objects.update(email="somebody@example.com")


@pytest.fixture
def owner(dora, browser_of):
    return browser_of(dora)


def send(browser, version: str = "old", shown: str = "1.0.0"):
    """Send the form of the page that lists these versions."""
    return browser.post(URL, {"version": version, "shown": shown, "message": TEXT})


def downloaded(user: User, version: str, days: int = 1) -> None:
    release = Release.objects.get(name="vpc/aws", version=version)
    Fetch.objects.create(release=release, user=user, last_on=timezone.now().date() - timedelta(days=days), count=1)


def written_to() -> list[str]:
    outbox.dispatch()
    return sorted(Letter.objects.values_list("user__username", flat=True))


@pytest.mark.both
def test_it_writes_to_those_who_use_the_deprecated_versions(owner, vpc, acme, alice, bob, charlie, dora):
    downloaded(bob, "1.0.0")
    downloaded(alice, "1.0.0", days=91)
    downloaded(charlie, "2.0.0")
    downloaded(dora, "1.0.0")
    page = pages.markup_of(owner.get(f"{URL}?version=old"))
    assert 'Recipients <span class="count">1</span>' in page
    assert "<p>bob</p>" in page
    assert "Send to 1 person" in page
    assert '<input type="hidden" name="shown" value="1.0.0">' in page

    answer = send(owner)

    assert (answer.status_code, answer["Location"]) == (303, "/modules/acme/vpc/aws/usage")
    assert "The message to 1 person is on its way." in pages.markup_of(owner.get(answer["Location"]))
    assert written_to() == ["bob"]
    [letter] = Letter.objects.all()
    assert letter.subject == "dora wrote to users of acme/vpc/aws"
    assert TEXT in letter.text
    [event] = AuditEvent.objects.filter(kind=Kind.USAGE_NOTIFIED)
    assert (event.subject, event.detail["people"], event.detail["message"]) == ("acme/vpc/aws", [bob.pk], TEXT)


def test_the_oldest_version_in_use_is_chosen_and_all_versions_can_be(owner, vpc, bob, charlie, dora):
    downloaded(dora, "1.0.0")
    downloaded(charlie, "2.0.0")
    page = pages.markup_of(owner.get(URL))
    assert '<option value="2.0.0" selected>2.0.0</option>' in page
    assert "<p>charlie</p>" in page or "their names are not shown" in page

    downloaded(bob, "1.0.0")
    assert '<option value="1.0.0" selected>1.0.0</option>' in pages.markup_of(owner.get(URL))
    assert 'Recipients <span class="count">2</span>' in pages.markup_of(owner.get(f"{URL}?version=all"))
    assert send(owner, "all", "2.0.0 1.0.0").status_code == 303
    assert written_to() == ["bob", "charlie"]
    assert AuditEvent.objects.get(kind=Kind.USAGE_NOTIFIED).subject == "acme/vpc/aws"


@pytest.mark.both
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

    assert send(owner).status_code == 303
    assert written_to() == ["alice", "bob", "charlie"]


def test_three_messages_a_day_are_the_maximum_and_the_text_is_kept(owner, vpc, bob):
    downloaded(bob, "1.0.0")
    assert [send(owner).status_code for _ in range(3)] == [303] * 3

    answer = send(owner, "1.0.0")

    assert answer.status_code == 422
    assert "already got 3 messages within a day" in pages.markup_of(answer)
    assert TEXT in pages.markup_of(answer)
    assert AuditEvent.objects.filter(kind=Kind.USAGE_NOTIFIED).count() == 3


def test_a_choice_that_was_not_shown_yet_is_shown_and_nothing_is_sent(owner, vpc, acme, bob, charlie):
    """Without a press of "Show recipients" the page still lists the users of the deprecated versions."""
    Grant.objects.create(namespace=acme, user=charlie, role=Role.READER)
    downloaded(bob, "1.0.0")
    downloaded(charlie, "2.0.0")

    answer = send(owner, "2.0.0", shown="1.0.0")

    page = pages.markup_of(answer)
    assert answer.status_code == 422
    assert "You chose other versions. Check who gets the message, then send it." in page
    assert "<p>charlie</p>" in page
    assert TEXT in page
    assert '<input type="hidden" name="shown" value="2.0.0">' in page
    assert written_to() == []
    assert owner.post(URL, {"version": "2.0.0", "message": TEXT}).status_code == 422
    shown = owner.post(URL, {"version": "2.0.0", "shown": "1.0.0", "message": TEXT, "show": "1"})
    assert (shown.status_code, TEXT in pages.markup_of(shown)) == (200, True)
    assert "Send to 1 person" in pages.markup_of(shown)
    assert written_to() == [], "showing other recipients sends nothing"
    assert send(owner, "2.0.0", shown="2.0.0").status_code == 303
    assert written_to() == ["charlie"]


def test_a_version_that_is_yanked_meanwhile_sends_the_message_to_no_one_else(owner, vpc, bob, charlie):
    downloaded(bob, "1.0.0")
    downloaded(charlie, "2.0.0")
    Release.objects.filter(version="2.0.0").update(lifecycle=Lifecycle.YANKED, lifecycle_at=timezone.now())
    assert send(owner, shown="1.0.0").status_code == 422
    assert written_to() == []


def test_without_a_mail_server_the_page_says_so(owner, vpc, bob, settings):
    settings.SMTP = None
    downloaded(bob, "1.0.0")
    page = pages.markup_of(owner.get(URL))
    assert 'Recipients <span class="count">0</span>' in page
    assert "<dt>This registry sends no mail</dt><dd>bob" in page
    assert "Send to" not in page
    assert send(owner).status_code == 422
    assert not AuditEvent.objects.filter(kind=Kind.USAGE_NOTIFIED).exists()


def test_only_people_who_get_it_are_counted_and_strangers_have_no_names(owner, vpc, acme, alice, bob, charlie):
    assert "No known users of these versions." in pages.markup_of(owner.get(URL))
    assert send(owner).status_code == 422

    downloaded(charlie, "1.0.0")
    page = pages.markup_of(owner.get(URL))
    assert 'Recipients <span class="count">1</span>' in page
    assert "their names are not shown" in page
    assert "charlie" not in page
    Namespace.objects.filter(pk=acme.pk).update(visibility=Visibility.PRIVATE)
    assert "<dt>Cannot see the namespace</dt><dd>1 person" in pages.markup_of(owner.get(URL))
    assert send(owner).status_code == 422

    Namespace.objects.filter(pk=acme.pk).update(visibility=Visibility.INTERNAL)
    for user in (alice, bob):
        downloaded(user, "1.0.0")
    User.objects.filter(pk=bob.pk).update(email="")
    Preference.objects.create(user=charlie, topics_off=[Topic.MESSAGES])
    page = pages.markup_of(owner.get(URL))
    assert "<p>alice</p>" in page
    assert "<dt>No mail address</dt><dd>bob" in page
    assert "<dt>Turned such mails off</dt><dd>1 person" in page
    assert "charlie" not in page

    answer = send(owner)
    assert "The message to 1 person is on its way." in pages.markup_of(owner.get(answer["Location"]))
    assert written_to() == ["alice", "bob"]
    assert Letter.objects.get(user=bob).state == LetterState.MISSED
    detail = AuditEvent.objects.get(kind=Kind.USAGE_NOTIFIED).detail
    assert (detail["people"], detail["without_address"]) == ([alice.pk], [bob.pk])
