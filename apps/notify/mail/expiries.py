"""Mails about tokens and signing keys that expire in 14, 7 and 1 days; a beat task looks once a day."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import ApiToken
from apps.notify.attention import table
from apps.notify.attention.matter import Matter
from apps.notify.mail import letters, wording
from apps.signing.models import SigningKey

STEPS = (1, 7, 14)  # days


def warn() -> None:
    """Safe to repeat: each step is told once for each expiry."""
    now = timezone.now()
    last = now + timedelta(days=STEPS[-1])
    tokens = ApiToken.objects.usable(now).filter(expires_at__lte=last).select_related("user__service_of")
    for token in tokens.order_by("pk").iterator():
        days = step_of(token.expires_at, now)
        # A token that was made for a week needs no warning of a week.
        if token.expires_at - token.created_at > timedelta(days=days):
            _warn_of_token(token, days)
    keys = SigningKey.objects.usable(now).filter(expires_at__lte=last).select_related("namespace")
    for key in keys.order_by("pk").iterator():
        assert key.expires_at is not None  # noqa: S101  # the filter says so
        days = step_of(key.expires_at, now)
        url = settings.PUBLIC_URL + reverse("portal:key", args=[key.namespace.name, key.fingerprint])
        _write(
            table.KEYS,
            key,
            key=f"key:{key.pk}:{days}:{key.expires_at:%Y%m%d}",
            subject=f"The signing key {key.key_id} of {key.namespace} expires {_in(days)}",
            text=f"The signing key {key.key_id} of {key.namespace} expires on {wording.moment(key.expires_at)}.\n"
            "An expired key can't sign new versions, and clients warn about the versions it signed. Extend it, or add "
            "a new key.",
            url=url,
            namespace=key.namespace,
        )


def step_of(at: datetime, now: datetime) -> int:
    """Return the step that an expiry within 14 days has reached."""
    return next(days for days in STEPS if at - now <= timedelta(days=days))


def _in(days: int) -> str:
    return "within a day" if days == 1 else f"within {days} days"


def _warn_of_token(token: ApiToken, days: int) -> None:
    team = token.user.service_of
    if token.user.is_service and team is not None:
        whose = f"The token “{token.label}” of {token.user.username}"
        path = reverse("portal:service-account", args=[team.name, token.user_id])
    else:
        whose, path = f"Your token “{token.label}”", reverse("portal:tokens")
    _write(
        table.TOKENS,
        token,
        key=f"token:{token.pk}:{days}:{token.expires_at:%Y%m%d}",
        subject=f"{whose} expires {_in(days)}",
        text=f"{whose} ({token.start}…) expires on {wording.moment(token.expires_at)}.\n"
        "Create a new token before then, and replace it wherever it is used.",
        url=settings.PUBLIC_URL + path,
        namespace=None,
    )


def _write(row: Matter, subject_row: SigningKey | ApiToken, **letter: Any) -> None:
    """Write to those who can act on what expires."""
    for people, _ in row.can_act(subject_row):
        letters.to(people, topic=row.topic, button=row.act, **letter)
