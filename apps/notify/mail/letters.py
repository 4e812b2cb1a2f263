"""The mails about events, and who receives them. The rows are written beside the deliveries; mailing.py sends them."""

import secrets

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from apps.accounts.identity import sealing
from apps.accounts.models import Invitation, Namespace, Role, User
from apps.notify.attention import table
from apps.notify.mail import invited, reach, wording
from apps.notify.models import Letter, LetterState, Topic
from apps.notify.notices import Notice

PURPOSE = "mail"  # of the sealed link
SEALED = sealing.Column(Letter, "sealed_url", PURPOSE)


def write(notice: Notice) -> None:
    """Write the mails of a notice, as the table of matters says, in the transaction of the caller. People receive no
    mail about what they did themselves.
    """
    for row in table.of_event(notice.event):
        for letter in row.letters(notice):
            to(
                letter.people.exclude(pk=notice.actor_id or 0),
                topic=row.topic if letter.topic is None else letter.topic,
                key=f"event:{notice.event_id}",
                subject=notice.sentence.rstrip("."),
                text="\n".join(letter.lines),
                url=letter.url,
                namespace=notice.namespace,
            )
        for found, act in ((row.can_act, row.act), (row.told, "")):
            for people, more in found(notice):
                said = [*wording.lines_of(notice, can_act=bool(act)), *([more] if more else [])]
                to(
                    people.exclude(pk=notice.actor_id or 0),
                    topic=row.topic,
                    key=f"event:{notice.event_id}",
                    subject=wording.subject_of(notice, can_act=bool(act)),
                    text="\n".join(said),
                    url=notice.url,
                    button=act,
                    # A role that was withdrawn may have hidden the namespace, and its former member knows of it.
                    namespace=None if row.topic == Topic.ROLES else notice.namespace,
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
    button: str = "",
) -> None:
    """Write one letter for each active person who wants the topic; a key once.

    That of a person without an address is kept as missed, so that home can say so. `button` is what leads to `url`.
    """
    wanted = people.filter(is_active=True, is_service=False).distinct()
    off, now = reach.turned_off(wanted, topic), timezone.now()
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
                button=button,
                state=LetterState.WAITING if address else LetterState.MISSED,
                next_at=now,
                ended_at=None if address else now,
            )
            for number, address in wanted.order_by("pk").values_list("pk", "email")
            if number not in off
        ],
        ignore_conflicts=True,
    )


def invite(*, invitation: Invitation, address: str, link: str) -> Letter:
    """Mail the link of a new invitation, with the proof that its reader has the address.

    Its expiry and use are checked when it is opened.
    """
    by = invitation.created_by.shown_name if invitation.created_by else "An operator"
    text = f"{by} invited you to Larder at {settings.PUBLIC_HOST}, a registry for OpenTofu and Terraform."
    if invitation.namespace and invitation.role:
        text += f"\nYou become a member of {invitation.namespace} as {Role(invitation.role).label.lower()}."
    text += f"\nThe link is valid once, until {wording.moment(invitation.expires_at)}."
    subject = f"{by} invited you to Larder at {settings.PUBLIC_HOST}"
    url = f"{link}{invited.SEPARATOR}{invited.proof_of(invitation, address)}"
    key = f"invitation:{invitation.pk}"
    return direct(None, address, key=key, subject=subject, text=text, url=url, button="Accept the invitation")


def confirm(*, user: User, address: str, token: str) -> Letter:
    """Mail a link to an address that a person claims as theirs."""
    text = (
        f"{user.username} asked Larder at {settings.PUBLIC_HOST} to send mail to this address.\n"
        "If that was you, open the link within a day. Otherwise ignore this mail."
    )
    link = settings.PUBLIC_URL + reverse("portal:mail-confirm", args=[token])
    key, subject = f"confirm:{secrets.token_hex(8)}", f"Confirm your address for Larder at {settings.PUBLIC_HOST}"
    return direct(user, address, key=key, subject=subject, text=text, url=link, button="Confirm this address")


def direct(user: User | None, address: str, *, key: str, subject: str, text: str, url: str, button: str) -> Letter:
    """Mail a letter that cannot be switched off, to an address that was asked for."""
    sealed = sealing.seal(url, PURPOSE)
    return Letter.objects.create(
        user=user,
        address=address,
        key=key,
        subject=subject[:200],
        text=text,
        sealed_url=sealed,
        button=button,
        next_at=timezone.now(),
    )


def url_of(letter: Letter) -> str:
    return sealing.unseal(letter.sealed_url, PURPOSE)


def pending() -> QuerySet[Letter]:
    return Letter.objects.filter(state=LetterState.WAITING)
