"""Signing keys that expire soon, for the pages of a namespace, and for home."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from apps.accounts.models import Namespace
from apps.signing.keys import WARN_DAYS
from apps.signing.models import SigningKey, State

# Clients warn about expired keys, and will refuse them one day. Days ahead -> tone.
STEPS = tuple(zip(sorted(WARN_DAYS), ("bad", "warn", "info"), strict=True))


@dataclass(frozen=True, slots=True)
class Expiry:
    key: SigningKey
    days: int  # rounded, as relative times are; negative after expiry
    tone: str

    @property
    def is_over(self) -> bool:
        return self.key.is_expired


def expiring(namespace: Namespace) -> list[Expiry]:
    """Active keys that expire within 60 days, or have expired; the earliest first."""
    return expiring_in([namespace])


def expiring_in(namespaces: Iterable[Namespace]) -> list[Expiry]:
    """Return the expiries like `expiring`, of several namespaces, in one query. A queryset of namespaces is not
    evaluated.
    """
    now = timezone.now()
    soon = SigningKey.objects.filter(
        namespace__in=namespaces, state=State.ACTIVE, expires_at__lte=now + timedelta(days=STEPS[-1][0])
    )
    expiries = (expiry_of(key, now) for key in soon.select_related("namespace").order_by("expires_at", "pk"))
    return [expiry for expiry in expiries if expiry is not None]


def expiry_of(key: SigningKey, now: datetime) -> Expiry | None:
    """None unless the key expires within 60 days or has expired."""
    if key.state != State.ACTIVE or key.expires_at is None:
        return None
    left = key.expires_at - now
    tone = next((tone for days, tone in STEPS if left <= timedelta(days=days)), "")
    return Expiry(key, round(left / timedelta(days=1)), tone) if tone else None
