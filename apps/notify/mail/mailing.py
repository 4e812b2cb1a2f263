"""Send letters by SMTP (LARDER_SMTP_URL), or print them where there is none.

A letter about a namespace is sent only if its receiver may see the namespace at that moment.
"""

import smtplib
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.core import signing
from django.core.mail import EmailMultiAlternatives, get_connection
from django.db.models import Count, Min, Q, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.jobs.models import claimed
from apps.jobs.threads import Threads
from apps.lib.process import metrics, outside
from apps.notify.channels import Channel
from apps.notify.mail import letters
from apps.notify.models import Letter, LetterState, Preference

DELAYS = tuple(timedelta(seconds=seconds) for seconds in (60, 300, 900, 3600, 7200, 14400, 28800, 31100))
LEASE = timedelta(seconds=120)
BATCH_SIZE = 50
MAX_IN_DIGEST = 200
# Of more letters of a topic in an hour a person gets the others as one mail: 400 tags of a Git repository are 400
# releases.
BURST, BURST_WINDOW = 10, timedelta(hours=1)
PERMANENT = 500  # SMTP: from here on the server never takes it
SALT = "larder.unsubscribe"

log = structlog.get_logger("larder.notify")


def send_due() -> int:
    """Send what is due and in no digest; return how many mails went out."""
    now = timezone.now()
    next_hour = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    due = letters.pending().filter(next_at__lte=now).select_related("user", "namespace").order_by("next_at", "pk")
    single = due.exclude(Q(user__mail_preference__is_digest=True) & ~Q(topic=""))
    # What one person asked for, such as an invitation, does not wait for thousands of notices.
    found = list(single.filter(topic="")[:BATCH_SIZE])
    found += _in_turns(single.exclude(topic=""), BATCH_SIZE - len(found))
    recent = _sent_recently(found, now)
    sent, gathered = 0, set()
    for letter in found:
        whose = (letter.user_id, letter.topic)
        if letter.topic and _is_gathered(letter):
            if whose not in gathered:
                gathered.add(whose)
                own = single.filter(user=letter.user_id, topic=letter.topic, next_at=letter.next_at)
                sent += _send(list(own[:MAX_IN_DIGEST]))
        elif letter.topic and recent[whose] >= BURST:
            letters.pending().filter(pk=letter.pk, next_at=letter.next_at).update(next_at=next_hour)
        else:
            recent[whose] += 1
            sent += _send([letter])
    return sent


def _in_turns(due: QuerySet[Letter], most: int) -> list[Letter]:
    """Return at most so many notices, of each namespace as many: 50,000 of one namespace delay no other."""
    oldest = due.order_by().values("namespace").annotate(since=Min("next_at")).order_by("since", "namespace")
    namespaces = list(oldest.values_list("namespace", flat=True))
    found: list[Letter] = []
    for place, namespace in enumerate(namespaces[:most]):
        share = -(-(most - len(found)) // (min(len(namespaces), most) - place))
        found += due.filter(namespace=namespace)[:share]
    return found


def _is_gathered(letter: Letter) -> bool:
    """A letter that waits for a full hour goes with the others of its topic that wait for it."""
    at = letter.next_at
    return (at.minute, at.second, at.microsecond) == (0, 0, 0)


def _sent_recently(found: Sequence[Letter], now: datetime) -> Counter[tuple[int | None, str]]:
    sent = Letter.objects.filter(state=LetterState.SENT, ended_at__gt=now - BURST_WINDOW)
    own = sent.filter(user__in={letter.user_id for letter in found if letter.user_id})
    return Counter(
        {(user, topic): count for user, topic, count in own.values_list("user", "topic").annotate(Count("pk"))}
    )


def send_digests() -> int:
    """One mail for each person who wants one a day; return how many went out."""
    waiting = letters.pending().filter(user__mail_preference__is_digest=True).exclude(topic="")
    sent = 0
    for number in waiting.order_by("user").values_list("user", flat=True).distinct():
        own = waiting.filter(user=number).select_related("user", "namespace").order_by("created_at", "pk")
        sent += _send(list(own[:MAX_IN_DIGEST]))
    return sent


def _send(found: list[Letter]) -> bool:
    """Send letters of one person as one mail. Each is claimed first, so that two workers send it once."""
    mine, until = [], timezone.now() + LEASE
    for letter in found:
        own = letters.pending().filter(pk=letter.pk, next_at=letter.next_at)
        if own.update(next_at=until, **claimed(until)):
            letter.refresh_from_db(fields=["attempts", "lapses"])
            mine.append(letter)
    for letter in mine:
        if letter.is_given_up:
            log.warning("mail_given_up", letter=letter.pk, lapses=letter.lapses)
            _end([letter], LetterState.FAILED, f"Given up after {letter.lapses} lost workers.")
    mine = [letter for letter in mine if not letter.is_given_up]
    wanted = [letter for letter in mine if _may_go(letter)]
    _end([letter for letter in mine if letter not in wanted], LetterState.DROPPED)
    if not wanted:
        return False
    try:
        message = _message(wanted)
        outside.give_back()
        message.send()
    except (smtplib.SMTPException, OSError) as error:
        metrics.notifications.labels("mail", "failed").inc()
        log.warning("mail_failed", error=type(error).__name__, letters=len(wanted))
        _failed(wanted, error)
        return False
    metrics.notifications.labels("mail", "sent").inc()
    _end(wanted, LetterState.SENT)
    return True


def _may_go(letter: Letter) -> bool:
    user = letter.user
    if user is None:
        return True
    if not user.is_active or not (letter.address or user.email):
        return False
    if letter.topic and letter.topic in topics_off(user):
        return False
    return may_read(letter)


def may_read(letter: Letter) -> bool:
    """Return whether its person may still see the namespace that it is about."""
    return letter.namespace is None or gate.role_on(Viewer(letter.user), letter.namespace) is not None


def topics_off(user: User) -> list[str]:
    row = Preference.objects.filter(user=user).first()
    return list(row.topics_off) if row else []


def _end(ended: Sequence[Letter], state: LetterState, error: str = "") -> None:
    numbers = [letter.pk for letter in ended]
    Letter.objects.filter(pk__in=numbers).update(state=state, ended_at=timezone.now(), lease_until=None, error=error)


def _failed(wanted: Sequence[Letter], error: Exception) -> None:
    text = type(error).__name__
    # Whether the server refused the recipient for good; that it refused us, or is away, may pass.
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        codes = [code for code, _ in error.recipients.values()]
    else:
        codes = [error.smtp_code if isinstance(error, smtplib.SMTPDataError) else 0]
    if all(code >= PERMANENT for code in codes):
        _end(wanted, LetterState.FAILED, text)
        return
    for letter in wanted:
        if letter.attempts <= len(DELAYS):
            later = timezone.now() + DELAYS[letter.attempts - 1]
            Letter.objects.filter(pk=letter.pk).update(next_at=later, lease_until=None, error=text)
        else:
            _end([letter], LetterState.FAILED, text)


def _message(wanted: Sequence[Letter]) -> EmailMultiAlternatives:
    first = wanted[0]
    items = [(one.subject, one.text.split("\n"), letters.url_of(one), one.button) for one in wanted]
    is_digest = len(wanted) > 1
    subject = f"{len(wanted)} updates from Larder at {settings.PUBLIC_HOST}" if is_digest else first.subject
    context: dict[str, Any] = {"items": items, "is_digest": is_digest, "host": settings.PUBLIC_HOST}
    headers = {"Auto-Submitted": "auto-generated", "List-Id": f"<{settings.PUBLIC_HOST.partition(':')[0]}>"}
    if first.user is not None and first.topic:
        context["settings"] = settings.PUBLIC_URL + reverse("portal:mail")
        is_of_one_topic = len({one.topic for one in wanted}) == 1
        unsubscribe = unsubscribe_url(first.user, first.topic if is_of_one_topic else "")
        context["unsubscribe"] = unsubscribe
        headers |= {"List-Unsubscribe": f"<{unsubscribe}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    address = first.address or (first.user.email if first.user else "")
    backend = "smtp" if settings.SMTP is not None else "console"
    message = EmailMultiAlternatives(
        subject,
        render_to_string("mail/letter.txt", context),
        settings.MAIL_FROM,
        [address],
        headers=headers,
        connection=get_connection(f"django.core.mail.backends.{backend}.EmailBackend", **(settings.SMTP or {})),
    )
    message.attach_alternative(render_to_string("mail/letter.html", context), "text/html")
    return message


def unsubscribe_url(user: User, topic: str) -> str:
    """A link that switches a topic off, or all of them, without a sign-in."""
    token = signing.dumps([user.pk, topic], salt=SALT)
    return settings.PUBLIC_URL + reverse("portal:mail-unsubscribe", args=[token])


def _unsent() -> QuerySet[Letter]:
    return letters.pending().exclude(user__mail_preference__is_digest=True)  # those of a digest wait for it


mailer = Threads("mail", lambda: [(0, None)], lambda _: send_due(), most=1)
CHANNEL = Channel(
    "mail",
    write=letters.write,
    wake=mailer.wake,
    pending=_unsent,
    ended_before=lambda at: Letter.objects.exclude(state=LetterState.WAITING).filter(ended_at__lt=at),
)
