"""Detect hosts with different keys, by fingerprints in the database; keys are never stored there.

A host's file may have several lines while keys are exchanged: it matches if one of them is the recorded one.
"""

import hashlib
import hmac
import socket
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Case, Q, When
from django.db.models.functions import Now
from django.utils import timezone

from apps.signing.models import KeyFingerprint, PrivateKey, PrivateStatementKey, SharedKey

# A worker tries every minute.
KEK_PLACE_AGE = timedelta(minutes=3)

_PURPOSE = b"larder.secret-key-fingerprint.v1"


def of_secret_key(key: str) -> str:
    """Return an HMAC under the key itself, which reveals nothing about a random key."""
    return hmac.new(key.encode(), _PURPOSE, hashlib.sha256).hexdigest()[:32]


def secret_key_problem(*, record: bool) -> str:
    """Return a sentence if this host's secret key differs from the recorded one, else the empty string.

    `record`: store this host's fingerprint if there is none, or if its newest key follows the recorded one.
    """
    found = [of_secret_key(key) for key in [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]]
    other = _recorded_other(SharedKey.SECRET, found, record=record)
    if other is None:
        if record:
            KeyFingerprint.objects.filter(key=SharedKey.SECRET).exclude(fingerprint=found[0]).update(**_row(found[0]))
        return ""
    return (
        f"This host's secret key is not the one that {other.host} recorded on {other.recorded_at:%Y-%m-%d}: "
        "hosts with different keys sign everyone out and reject each other's download links. Give every host the same "
        "file (LARDER_SECRET_KEY_FILE). If the recorded key is lost or was replaced on "
        "purpose, run `manage.py accept_secret_key` once."
    )


def accept_secret_key() -> None:
    _record(SharedKey.SECRET, of_secret_key(settings.SECRET_KEY))


def kek_problem(kek_ids: list[str], *, record: bool) -> str:
    """Like `secret_key_problem`, for the ids of the key-encryption keys, which only hosts of workers know."""
    other = _recorded_other(SharedKey.KEK, kek_ids, record=record)
    if other is None:
        return ""
    return (
        f"This host's key-encryption key ({', '.join(kek_ids)}) is not the one that {other.host} recorded on "
        f"{other.recorded_at:%Y-%m-%d} ({other.fingerprint}): workers with different keys cannot open each other's "
        "sealed keys. Give every host that runs workers the same LARDER_SIGNING_KEK_URL and the same file "
        "(LARDER_SIGNING_KEK_FILE). If the key was replaced on purpose, run `manage.py reseal_signing_keys`."
    )


def sealed_elsewhere() -> str:
    """Return a sentence if private keys are sealed under another key-encryption key than the recorded one."""
    recorded = KeyFingerprint.objects.filter(key=SharedKey.KEK).first()
    if recorded is None:
        return ""
    found = sorted(
        {
            *PrivateKey.objects.exclude(kek_id=recorded.fingerprint).values_list("kek_id", flat=True),
            *PrivateStatementKey.objects.exclude(kek_id=recorded.fingerprint).values_list("kek_id", flat=True),
        }
    )
    if not found:
        return ""
    return (
        f"Private signing keys are encrypted under {', '.join(found)}; workers share {recorded.fingerprint}, which "
        f"{recorded.host} recorded on {recorded.recorded_at:%Y-%m-%d}. Give every host that runs "
        "workers every key-encryption key (LARDER_SIGNING_KEK_FILE, LARDER_SIGNING_KEK_URL), then run "
        "`manage.py reseal_signing_keys`."
    )


def accept_kek(kek_id: str) -> None:
    _record(SharedKey.KEK, kek_id)


@dataclass(frozen=True, slots=True)
class KekPlace:
    """`name`: file, AWS KMS or Vault."""

    name: str
    is_answering: bool

    @property
    def is_service(self) -> bool:
        return self.name != "file"


def is_kek_recorded() -> bool:
    return KeyFingerprint.objects.filter(key=SharedKey.KEK).exists()


def record_kek_place(name: str, *, is_answering: bool) -> None:
    """Record where a worker's newest key-encryption key is, and that it has just answered."""
    moment = {"answered_at": Now()} if is_answering else {}
    KeyFingerprint.objects.filter(key=SharedKey.KEK).update(place=name, **moment)


def kek_place() -> KekPlace | None:
    """Return what the signing workers reported last, None if they have not yet."""
    lately = Q(answered_at__gte=Now() - KEK_PLACE_AGE)
    rows = KeyFingerprint.objects.filter(key=SharedKey.KEK).exclude(place="")
    row = rows.annotate(is_answering=Case(When(lately, then=True), default=False)).first()
    return KekPlace(row.place, row.is_answering) if row else None


def _recorded_other(key: SharedKey, found: list[str], *, record: bool) -> KeyFingerprint | None:
    row = KeyFingerprint.objects.filter(key=key).first()
    if row is None and record:
        # If two hosts start at once, one records and the other compares.
        row, _ = KeyFingerprint.objects.get_or_create(key=key, defaults=_row(found[0]))
    return row if row is not None and row.fingerprint not in found else None


def _record(key: SharedKey, fingerprint: str) -> None:
    KeyFingerprint.objects.update_or_create(key=key, defaults=_row(fingerprint))


def _row(fingerprint: str) -> dict[str, Any]:
    return {"fingerprint": fingerprint, "host": socket.gethostname()[:120], "recorded_at": timezone.now()}
