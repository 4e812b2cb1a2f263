"""Mails and their receivers, by a real mail server: what they may no longer see is not sent, and nothing comes
twice.
"""

import re
from datetime import timedelta

import pytest
from django.conf import settings as site
from django.test import Client
from django.utils import timezone

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Namespace, Role, Scope, User, Visibility
from apps.accounts.people import invitations
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.notify import outbox
from apps.notify.mail import expiries, letters, mailing, preferences
from apps.notify.models import Letter, LetterState, Topic
from apps.releases.lifecycle import verbs
from apps.releases.models import Fetch
from apps.signing.models import Custody, SigningKey
from tests.notify.conftest import sent, text_of
from tests.rows import for_each_row

pytestmark = pytest.mark.usefixtures("shelf")


@pytest.fixture
def people(alice, bob, charlie, dora):
    for user in (alice, bob, charlie, dora):
        user.email = f"{user.username}@acme.example"
        user.save()


def watch(user, address="acme/vpc/aws"):
    outbox.dispatch()  # what was before is told to nobody
    namespace, name = preferences.watchable(Viewer(user), address)
    preferences.watch(user=user, namespace=namespace, name=name)


@pytest.fixture
def told(people, published, bob):
    """Bob watches acme/vpc/aws, of which 1.3.0 is published then."""
    published()
    watch(bob)
    published(version="1.3.0")


def test_who_watches_is_told_of_a_release_in_text_and_html(box, people, published, alice, bob, dora):
    published()
    watch(alice)  # who hears nothing of what she did
    watch(bob)
    watch(dora, "acme")
    published(version="1.3.0")

    assert sent(box) == ["bob", "dora"]
    message = next(message for to, message in box.received if to.startswith("bob"))
    page = f"{site.PUBLIC_URL}/modules/acme/vpc/aws/1.3.0"
    assert message["Subject"] == "acme/vpc/aws 1.3.0 was published by alice"
    assert message["From"] == site.MAIL_FROM
    assert message["Auto-Submitted"] == "auto-generated"
    assert f"\n{page}\n" in text_of(message)
    assert f'<a href="{page}">' in text_of(message, "html")
    assert sent(box) == ["bob", "dora"]  # nothing comes twice


@pytest.mark.both
def test_a_deprecation_reaches_those_who_fetched_it_lately(box, people, published, alice, bob, dora):
    release = published()
    today = timezone.now().date()
    Fetch.objects.create(release=release, user=bob, last_on=today, count=3)
    Fetch.objects.create(release=release, user=alice, last_on=today - timedelta(days=90), count=3)
    reason = "It deletes <b>routes</b> & more."
    verbs.deprecate(release=release, actor=Viewer(dora), reason=reason, replacement="1.3.0")

    assert sent(box) == ["bob"]
    [(_, message)] = box.received
    assert "Use instead: 1.3.0" in text_of(message)
    assert "Reason: It deletes <b>routes</b> & more." in text_of(message)
    assert "It deletes &lt;b&gt;routes&lt;/b&gt; &amp; more." in text_of(message, "html")


@for_each_row("loss", ["role", "account", "address", "topic", "namespace"])
def test_what_a_person_may_no_longer_get_is_not_sent(loss, told, box, bob, acme):
    outbox.dispatch()
    assert Letter.objects.get().user == bob
    if loss == "role":
        Grant.objects.filter(user=bob).delete()
    elif loss == "account":
        User.objects.filter(pk=bob.pk).update(is_active=False)
    elif loss == "address":
        User.objects.filter(pk=bob.pk).update(email="")
    elif loss == "topic":
        preferences.choose(user=bob, topics=[], is_digest=False)
    else:
        Namespace.objects.filter(pk=acme.pk).update(deleted_at=timezone.now())

    assert sent(box) == []
    assert Letter.objects.get().state == LetterState.DROPPED


def test_watching_ends_with_sight(box, people, published, alice, charlie, pantry):
    published("pantry/vpc/aws")
    watch(charlie, "pantry")
    Namespace.objects.filter(pk=pantry.pk).update(visibility=Visibility.PRIVATE)
    published("pantry/vpc/aws", "1.3.0")

    assert sent(box) == []
    assert list(preferences.watches_of(charlie)) == []


def test_a_publisher_is_told_of_a_refusal(box, people, published, alice):
    release = published(version="1.3.0", data=b"no archive")
    assert release.state == "rejected"

    assert sent(box) == ["alice"]
    assert f"/releases/{release.public_id}" in text_of(box.received[0][1])


def test_a_person_is_told_of_their_role(box, people, acme, charlie, dora):
    grant = namespaces.grant(namespace=acme, grantee=charlie, role=Role.READER, actor=Viewer(dora))
    assert sent(box) == ["charlie"]
    assert box.received[0][1]["Subject"] == "dora made you a reader of acme"

    namespaces.withdraw(grant=grant, actor=Viewer(dora))
    assert sent(box) == ["charlie", "charlie"]  # though they no longer see acme
    assert box.received[1][1]["Subject"] == "dora removed you as a reader of acme"


def test_owners_are_told_of_a_webhook_that_was_switched_off(box, people, acme, dora):
    record(Kind.WEBHOOK_DISABLED, actor_id=None, subject="acme/webhooks/7", reason="Every delivery failed.")

    assert sent(box) == ["dora"]
    assert f"{site.PUBLIC_URL}/namespaces/acme/webhooks/7" in text_of(box.received[0][1])


def test_one_mail_a_day_has_it_all(box, people, published, bob):
    published()
    watch(bob)
    preferences.choose(user=bob, topics=Topic.values, is_digest=True)
    published(version="1.3.0")
    published(version="1.4.0")

    assert sent(box) == []
    assert sent(box, digests=True) == ["bob"]
    [(_, message)] = box.received
    assert message["Subject"] == f"2 updates from Larder at {site.PUBLIC_HOST}"
    assert [f"acme/vpc/aws {version} was published" in text_of(message) for version in ("1.3.0", "1.4.0")] == [True] * 2
    assert sent(box, digests=True) == ["bob"]


@pytest.mark.both
def test_of_many_releases_in_an_hour_most_come_in_one_mail(box, people, published, bob, monkeypatch):
    monkeypatch.setattr(mailing, "BURST", 2)
    published()
    watch(bob)
    for minor in range(3, 8):
        published(version=f"1.{minor}.0")

    assert sent(box) == ["bob", "bob"]
    assert sent(box) == ["bob", "bob"]
    waiting = Letter.objects.filter(state=LetterState.WAITING)
    [at] = set(waiting.values_list("next_at", flat=True))
    assert (at > timezone.now(), at.minute, at.second) == (True, 0, 0)
    waiting.update(next_at=at - timedelta(hours=1))
    assert sent(box) == ["bob", "bob", "bob"]
    assert box.received[-1][1]["Subject"] == f"3 updates from Larder at {site.PUBLIC_HOST}"
    assert all(f"acme/vpc/aws 1.{minor}.0 was" in text_of(box.received[-1][1]) for minor in (5, 6, 7))
    published(version="1.8.0")
    assert sent(box) == ["bob", "bob", "bob"]
    Letter.objects.filter(state=LetterState.SENT).update(ended_at=timezone.now() - timedelta(hours=1))
    published(version="1.9.0")
    assert sent(box) == ["bob", "bob", "bob", "bob"]


@pytest.mark.both
def test_tokens_and_keys_warn_once_in_each_step_and_a_token_for_a_week_of_no_week(box, people, acme, bob, dora):
    tokens.issue(user=bob, label="week", scope=Scope.READ, actor=Viewer(bob), lifetime=timedelta(days=7))
    expiries.warn()
    assert not Letter.objects.exists()
    ApiToken.objects.all().delete()
    token, _ = tokens.issue(user=bob, label="ci", scope=Scope.READ, actor=Viewer(bob))
    key = SigningKey.objects.create(
        namespace=acme, custody=Custody.PUBLISHER, fingerprint="AB" * 20, key_id="AB" * 8, armor="x", algorithm="rsa"
    )
    for days in (20, 13, 10, 6, 0.5):
        at = timezone.now() + timedelta(days=days)
        ApiToken.objects.filter(pk=token.pk).update(expires_at=at, created_at=at - timedelta(days=90))
        SigningKey.objects.filter(pk=key.pk).update(expires_at=at)
        Letter.objects.all().delete()
        expiries.warn()
        expiries.warn()
        assert Letter.objects.count() == (0 if days == 20 else 2), days
        mailing.send_due()

    assert sorted({to.partition("@")[0] for to, _ in box.received}) == ["bob", "dora"]
    subjects = [message["Subject"] for to, message in box.received if to.startswith("bob")]
    assert subjects == [
        "Your token “ci” expires within 14 days",
        "Your token “ci” expires within 14 days",
        "Your token “ci” expires within 7 days",
        "Your token “ci” expires within a day",
    ]


def test_a_mail_server_that_is_away_is_asked_again_and_one_that_refuses_is_not(box, told, settings):
    settings.SMTP = box.settings | {"port": 1}
    assert sent(box) == []
    letter = Letter.objects.get()
    assert (letter.state, letter.attempts) == (LetterState.WAITING, 1)
    assert letter.next_at > timezone.now()

    settings.SMTP = box.settings
    box.refuses = "450 later"
    Letter.objects.update(next_at=timezone.now())
    assert sent(box) == []
    assert Letter.objects.get().state == LetterState.WAITING

    box.refuses = "550 no such user"
    Letter.objects.update(next_at=timezone.now())
    assert sent(box) == []
    assert Letter.objects.get().state == LetterState.FAILED


def test_without_a_mail_server_mails_are_printed(told, published, capsys):
    outbox.dispatch()

    assert mailing.send_due() == 1
    assert "Subject: acme/vpc/aws 1.3.0 was published by alice" in capsys.readouterr().out


def test_the_link_in_a_mail_ends_its_topic_without_a_sign_in(box, told, published, bob):
    sent(box)
    [(_, message)] = box.received
    link = message["List-Unsubscribe"].strip(" <>")
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert link in text_of(message)
    path = link.removeprefix(site.PUBLIC_URL)
    stranger = Client(enforce_csrf_checks=True)
    assert stranger.get(path).status_code == 200
    assert mailing.topics_off(bob) == []  # a program that looks at links changes nothing

    assert stranger.post(path, {"List-Unsubscribe": "One-Click"}).status_code == 200
    assert mailing.topics_off(bob) == ["published"]
    published(version="1.4.0")
    assert sent(box) == ["bob"]
    assert stranger.post(path[:-3] + "abc").status_code == 404


def test_an_invitation_is_mailed_and_its_link_is_stored_nowhere_in_clear(box, acme, dora):
    invitation, secret = invitations.invite(actor=Viewer(dora), note="Erin", namespace=acme, role=Role.READER)
    letters.invite(invitation=invitation, address="erin@acme.example", link=f"{site.PUBLIC_URL}/invitations/{secret}")

    assert [row for row in Letter.objects.values_list() if secret in str(row)] == []
    assert sent(box) == ["erin"]
    message = box.received[0][1]
    assert message["Subject"] == f"dora invited you to Larder at {site.PUBLIC_HOST}"
    assert f"\n\nAccept the invitation:\n{site.PUBLIC_URL}/invitations/{secret}~" in text_of(message)
    assert ">Accept the invitation</a>" in text_of(message, "html")
    assert "You become a member of acme as reader." in text_of(message)
    assert "List-Unsubscribe" not in box.received[0][1]


def test_an_address_is_confirmed_by_a_link_that_only_its_person_opens(box, bob, charlie, browser_of):
    page = browser_of(bob)
    assert page.post("/account/mail/address", {"address": "bob@acme.example"}).status_code == 303
    bob.refresh_from_db()
    assert bob.email == ""
    assert sent(box) == ["bob"]
    [path] = re.findall(rf"{re.escape(site.PUBLIC_URL)}(/mail/confirm/\S+)", text_of(box.received[0][1]))

    assert browser_of(charlie).post(path).status_code == 404
    assert "bob@acme.example" in page.get(path).text
    bob.refresh_from_db()
    assert bob.email == ""  # opening it is not enough
    assert page.post(path).status_code == 303
    bob.refresh_from_db()
    assert bob.email == "bob@acme.example"


def test_a_person_chooses_and_stops_watching_on_pages(people, published, bob, browser_of):
    published()
    page = browser_of(bob)
    assert page.post("/watch/acme/vpc/aws", {"on": "1"}).status_code == 303
    assert "Stop watching" in page.get("/watch/acme/vpc/aws").text
    assert "acme/vpc/aws" in page.get("/account/mail").text
    page.post("/account/mail", {"topics": ["roles"], "digest": "on"})
    row = preferences.preference_of(bob)
    assert (row.is_digest, "roles" in row.topics_off, "published" in row.topics_off) == (True, False, True)

    page.post("/watch/acme/vpc/aws", {"on": "0"})
    assert list(preferences.watches_of(bob)) == []
    assert page.get("/watch/acme/dns").status_code == 404
