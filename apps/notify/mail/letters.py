"""The mails about events, and who receives them. The rows are written beside the deliveries; mailing.py sends them."""

import secrets
from collections.abc import Iterable

from django.conf import settings
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access import connections
from apps.accounts.identity import sealing
from apps.accounts.models import Invitation, Namespace, Role, User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.errors import Reason
from apps.notify.mail import invited, reach, taken
from apps.notify.models import Letter, LetterState, Topic
from apps.notify.notices import Notice
from apps.releases.models import Release
from apps.releases.origin.models import Origin, Way
from apps.releases.publishing import deciding

PURPOSE = "mail"  # of the sealed link
SEALED = sealing.Column(Letter, "sealed_url", PURPOSE)
_TOPICS = {
    "release.published": Topic.PUBLISHED,
    "release.deprecated": Topic.WITHDRAWN,
    "release.yanked": Topic.WITHDRAWN,
    "release.rejected": Topic.REFUSED,
    "release.failed": Topic.REFUSED,
    "release.held": Topic.REFUSED,
    # Of a release that was declined its author reads as of any other that was rejected.
    "release.awaiting-approval": Topic.APPROVALS,
    "release.approved": Topic.APPROVALS,
    "role.granted": Topic.ROLES,
    "role.withdrawn": Topic.ROLES,
    "connections.suspended": Topic.HANDOVER,
    "connections.left-behind": Topic.HANDOVER,
    "access.requested": Topic.REQUESTS,
    "usage.notified": Topic.MESSAGES,
    "webhook.disabled": Topic.WEBHOOKS,
    "tag.refused": Topic.GIT,
    "tag.moved": Topic.GIT,
    "tag.deleted": Topic.GIT,
    "repository.failing": Topic.GIT,
    "repository.host-keys-changed": Topic.GIT,
    "upstream.alarm": Topic.UPSTREAMS,
}
MAX_CHANGES, MAX_NAMED = 50, 100


def write(notice: Notice) -> None:
    """Write the mails of a notice, in the transaction of the caller. People receive no mail about what they did
    themselves.
    """
    for letter in taken.letters_of(notice) if notice.event in taken.EVENTS else ():
        to(
            letter.people.exclude(pk=notice.actor_id or 0),
            topic=letter.topic,
            key=f"event:{notice.event_id}",
            subject=notice.sentence.rstrip("."),
            text="\n".join(letter.lines),
            url=letter.url,
            namespace=notice.namespace,
        )
    topic = _TOPICS.get(notice.event)
    if _switched(notice) is not None:
        topic = Topic.APPROVALS
    if topic is None:
        return
    text = "\n".join(_lines(notice))
    if notice.release is not None and notice.event == "release.awaiting-approval":
        _ask_for_approval(notice, notice.release, topic, text)
        return
    people = _recipients(notice, topic).exclude(pk=notice.actor_id or 0)
    # A role that was withdrawn may have hidden the namespace, and its former member knows of it.
    namespace = None if topic == Topic.ROLES else notice.namespace
    to(
        people,
        topic=topic,
        key=f"event:{notice.event_id}",
        subject=_headline(notice).rstrip("."),
        text=text,
        url=notice.url,
        namespace=namespace,
    )


def _ask_for_approval(notice: Notice, release: Release, topic: Topic, text: str) -> None:
    """Those behind a machine cannot approve what it published: each reads why, and whom to ask."""
    asked, refused = deciding.asked_and_refused(release)
    texts = {text: asked} | {
        f"{text}\n{why}": {one for one in refused if refused[one] == why} for why in refused.values()
    }
    for said, people in texts.items():
        to(
            User.objects.filter(pk__in=[one.pk for one in people]),
            topic=topic,
            key=f"event:{notice.event_id}",
            subject=_headline(notice).rstrip("."),
            text=said,
            url=notice.url,
            namespace=notice.namespace,
        )


def to(
    people: QuerySet[User],
    *,
    topic: Topic,
    key: str,
    subject: str,
    text: str,
    url: str,
    namespace: Namespace | None,
) -> None:
    """Write one letter for each active person who has an address and wants the topic; a key once."""
    wanted = people.filter(is_active=True, is_service=False).exclude(email="").distinct()
    off = reach.turned_off(wanted, topic)
    sealed = sealing.seal(url, PURPOSE)
    Letter.objects.bulk_create(
        [
            Letter(
                user_id=number,
                topic=topic,
                key=key,
                namespace=namespace,
                subject=subject[:200],
                text=text,
                sealed_url=sealed,
                next_at=timezone.now(),
            )
            for number in wanted.order_by("pk").values_list("pk", flat=True)
            if number not in off
        ],
        ignore_conflicts=True,
    )


def invite(*, invitation: Invitation, address: str, link: str) -> Letter:
    """Mail the link of a new invitation, with the proof that its reader has the address.

    Its expiry and use are checked when it is opened.
    """
    by = invitation.created_by.shown_name if invitation.created_by else "An operator"
    into = (
        f" as {Role(invitation.role).label.lower()} of {invitation.namespace}"
        if invitation.namespace and invitation.role
        else ""
    )
    text = (
        f"{by} invites you to the registry {settings.PUBLIC_HOST}{into}.\n"
        f"The link works once, until {invitation.expires_at:%Y-%m-%d %H:%M} UTC."
    )
    subject = f"Invitation to {settings.PUBLIC_HOST}"
    url = f"{link}{invited.SEPARATOR}{invited.proof_of(invitation, address)}"
    return direct(None, address, key=f"invitation:{invitation.pk}", subject=subject, text=text, url=url)


def confirm(*, user: User, address: str, token: str) -> Letter:
    """Mail a link to an address that a person claims as theirs."""
    text = (
        f"{user.username} at {settings.PUBLIC_HOST} asked to get mail at this address.\n"
        "If that was you, open the link within a day. If not, ignore this mail."
    )
    link = settings.PUBLIC_URL + reverse("portal:mail-confirm", args=[token])
    key = f"confirm:{secrets.token_hex(8)}"
    return direct(user, address, key=key, subject="Confirm your address", text=text, url=link)


def direct(user: User | None, address: str, *, key: str, subject: str, text: str, url: str) -> Letter:
    """Mail a letter that cannot be switched off, to an address that was asked for."""
    sealed = sealing.seal(url, PURPOSE)
    return Letter.objects.create(
        user=user, address=address, key=key, subject=subject, text=text, sealed_url=sealed, next_at=timezone.now()
    )


def owners_of(namespace: Namespace | None) -> QuerySet[User]:
    """People who own it, themselves or by a team."""
    if namespace is None:
        return User.objects.filter(is_superuser=True)
    return taken.publishers_of(namespace, least=Role.OWNER)


def _recipients(notice: Notice, topic: Topic) -> QuerySet[User]:
    if topic in (Topic.PUBLISHED, Topic.WITHDRAWN):
        return taken.watchers(notice) if topic == Topic.PUBLISHED else taken.users_of_version(notice)
    if topic == Topic.MESSAGES:
        return User.objects.filter(pk__in=notice.people)
    if topic in (Topic.REFUSED, Topic.APPROVALS) and _switched(notice) is None:
        return _deciding(notice)
    if topic == Topic.ROLES:
        user, team = notice.grantee
        return User.objects.filter(Q(pk=user) if user else Q(memberships__team__name=team) if team else Q(pk=None))
    if topic == Topic.UPSTREAMS:
        return User.objects.with_perm(taken.OPERATE_UPSTREAM).filter(is_staff=True)
    return owners_of(notice.namespace)


def _deciding(notice: Notice) -> QuerySet[User]:
    """The author of a release; owners for one that Larder fetched from Git."""
    if notice.release is not None and Origin.objects.filter(release=notice.release, way=Way.GIT).exists():
        return owners_of(notice.namespace)
    return User.objects.filter(pk=(notice.release.created_by_id if notice.release else None) or 0)


def _headline(notice: Notice) -> str:
    """A held release is told to its publisher alone."""
    return f"{notice.subject} needs your answer." if notice.event == "release.held" else notice.sentence


def _lines(notice: Notice) -> Iterable[str]:
    if notice.event.startswith("role."):
        whose = f"The team {notice.more['team']}" if "team" in notice.more else "You"
        role = notice.more.get("role", "")
        verb = ("is" if "team" in notice.more else "are") + (" now" if notice.event == "role.granted" else " no longer")
        yield f"{whose} {verb} {role} of {notice.subject}."
    else:
        yield _headline(notice)
    if notice.release is not None and notice.event in ("release.held", "release.rejected", "release.failed"):
        reasons = notice.release.questions if notice.event == "release.held" else notice.release.reasons
        for reason in reasons:
            yield Reason.from_dict(reason).sentence
    yield from _connections(notice)
    yield from _approval(notice)
    yield from (f"Unusual: {sentence}" for sentence in notice.more.get("unusual", ()))
    if notice.breaking:
        yield notice.breaking
        if notice.release is not None and notice.release.breaking_reason:
            yield f"Its publisher says: {notice.release.breaking_reason}"
    if notice.message:
        yield notice.message
    if notice.reason:
        yield f"Reason: {notice.reason}"
    if replacement := notice.more.get("replacement"):
        yield f"Use instead: {replacement}"


def _connections(notice: Notice) -> Iterable[str]:
    found = notice.more.get("connections", ())
    yield from (f"- {connections.noun_of(one['kind'])} {one['name']}" for one in found)
    if more := notice.more.get("not_listed"):
        yield f"and {more:,} more"
    if found and notice.event == "connections.left-behind":
        yield "They still work. Confirm each of them, or remove it."
    elif found:
        yield "Confirm each that the namespace needs, and remove the others."
        yield "Replace credentials and secrets that the former owner knows."
    if known := notice.more.get("secrets"):
        yield "A former owner may still know these, which work. Replace each that they should no longer have:"
        yield from (f"- {one['kind']} {one['name']}" for one in known)


def _switched(notice: Notice) -> bool | None:
    """Return whether releases need approval from now on, by the notice; None if that did not change."""
    changes = notice.more.get("changes") if notice.event == "namespace.changed" else None
    found = changes.get("requires_approval") if isinstance(changes, dict) else None
    return None if found is None else bool(found[1])


def _approval(notice: Notice) -> Iterable[str]:
    """An owner can switch it off, publish, and switch it on again: the others read what was published meanwhile."""
    is_on = _switched(notice)
    if is_on is None or notice.namespace is None:
        return
    if not is_on:
        yield "Its releases no longer need approval: Larder publishes what it has checked."
        return
    yield "Its releases need approval by another person from now on."
    events = AuditEvent.objects.filter(namespace=notice.namespace.canonical, kind=Kind.NAMESPACE_CHANGED)
    before = events.filter(pk__lt=notice.event_id).order_by("-at", "-pk")[:MAX_CHANGES]
    off = next((one for one in before if one.detail.get("changes", {}).get("requires_approval") == [True, False]), None)
    if off is None:
        return
    rows = Release.objects.filter(namespace=notice.namespace, published_at__gte=off.at, published_at__lte=notice.at)
    found = [str(one) for one in rows.exclude(approval__decision="approved").order_by("published_at", "pk")[:MAX_NAMED]]
    if found:
        yield f"It was switched off on {off.at:%Y-%m-%d %H:%M} UTC. Published since then without approval:"
        yield from (f"- {name}" for name in found)


def pending() -> QuerySet[Letter]:
    return Letter.objects.filter(state=LetterState.WAITING)
