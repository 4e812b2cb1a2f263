"""Things that happen to Alice, Bob, Charlie, Dora and Olga, for each row of the table of what needs attention."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Membership, Namespace, Role, User
from apps.accounts.people import access_requests, service_accounts, teams
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib import versions
from apps.notify import outbox
from apps.notify.attention import table
from apps.notify.attention.matter import Person
from apps.notify.mail import expiries
from apps.notify.models import Letter, Topic
from apps.releases.lifecycle import verbs
from apps.releases.models import DownloadCount, Fetch, Release
from tests.builders.approving import ask_for_approval, machine_of, publisher, team_of
from tests.builders.connecting import connect_all
from tests.portal.providers.rows import row_of_key
from tests.portal.rows import add_module

CAST = ("alice", "bob", "charlie", "dora", "olga")


def lines(user: User) -> tuple[list[Any], list[Any]]:
    return table.lines_for(Person.of(Viewer(User.objects.get(pk=user.pk))))


def row(by: User, namespace: Namespace, state: str, **more: Any) -> Release:
    reason = {"code": "x", "found": "a private key", "expected": "none", "hint": "Leave it out.", "file": ""}
    fields = {"kind": "module", "name": "vpc/aws", "version": "1.0.0", "staging_key": "", "reasons": [reason], **more}
    key = versions.sort_key(fields["version"])
    return Release.objects.create(
        namespace=namespace, created_by=by, state=state, sort_key=key, questions=[reason], **fields
    )


def a_release_awaits_approval(cast) -> None:
    publisher(cast.bob, cast.acme)
    ask_for_approval(cast.acme)
    cast.published(version="1.3.0")


def what_a_machine_published_awaits_approval(cast) -> None:
    """Bob can make tokens of the machine, so he took part."""
    machine = machine_of(team_of(cast.bob, cast.acme), cast.bob)
    ask_for_approval(cast.acme)
    cast.published(version="1.3.0", user=machine)


def a_release_is_held(cast) -> None:
    release = row(cast.alice, cast.acme, "held")
    record(Kind.RELEASE_HELD, actor_id=None, subject=str(release), release=release.pk)


def a_release_of_a_machine_is_held(cast) -> None:
    release = row(machine_of(team_of(cast.alice, cast.acme), cast.alice), cast.acme, "held")
    record(Kind.RELEASE_HELD, actor_id=None, subject=str(release), release=release.pk)


def a_release_is_rejected(cast) -> None:
    release = row(cast.alice, cast.acme, "rejected")
    record(Kind.RELEASE_REJECTED, actor_id=None, subject=str(release), release=release.pk)


def somebody_requests_access(cast) -> None:
    access_requests.request(namespace=cast.acme, actor=Viewer(cast.bob), reason="For the DNS module.")


def an_owner_leaves_a_connection(cast) -> None:
    given = namespaces.grant(namespace=cast.acme, grantee=cast.charlie, role=Role.OWNER, actor=Viewer(cast.olga))
    connect_all(cast.acme, cast.charlie)
    outbox.dispatch()
    Letter.objects.all().delete()
    namespaces.withdraw(grant=given, actor=Viewer(cast.olga))
    outbox.dispatch()
    Letter.objects.filter(topic=Topic.ROLES).delete()


def a_key_expires(cast) -> None:
    row_of_key(cast.acme, 1, expires_at=timezone.now() + timedelta(days=5))
    expiries.warn()


def a_token_of_a_machine_expires(cast) -> None:
    team = teams.create(name="cooks", actor=Viewer(cast.dora))
    Membership.objects.create(team=team, user=cast.bob)
    machine = service_accounts.create(team=team, name="ci", actor=Viewer(cast.dora))
    token, _ = tokens.issue(user=machine, label="nightly", scope="read", actor=Viewer(cast.dora))
    soon = timezone.now() + timedelta(days=5)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=soon, created_at=soon - timedelta(days=90))
    expiries.warn()


def a_version_in_use_is_deprecated(cast) -> None:
    add_module(cast.acme, "vpc/aws", "1.0.0", "2.0.0")
    release = Release.objects.get(version="1.0.0")
    today = timezone.now().date()
    DownloadCount.objects.create(release=release, day=today, client="other", count=3)
    Fetch.objects.create(release=release, user=cast.bob, last_on=today, count=3)
    verbs.deprecate(release=release, actor=Viewer(cast.olga), reason="It leaks.", replacement="2.0.0")
