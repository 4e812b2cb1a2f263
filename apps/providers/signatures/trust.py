"""The keys that clients may verify a version with."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from apps.providers.listing import Key
from apps.providers.models import FormerSignature, Package
from apps.signing.models import SigningKey, State

# Warn users of a key this long before it expires.
AHEAD = timedelta(days=60)


class PublicKey(NamedTuple):
    """A key as clients get it."""

    key_id: str
    armor: str
    source: str
    source_url: str


_KEYS = "version__provider__namespace__signing_keys"
_OF_KEY = {f"signer_{column}": F(f"{_KEYS}__{column}") for column in ("custody", "state", "expires_at", "added_at")}
_SERVED = {f"signer_{column}": F(f"{_KEYS}__{column}") for column in PublicKey._fields}


def with_keys(packages: QuerySet[Package], now: datetime) -> tuple[list[Package], list[PublicKey]]:
    """Packages of one version, and the keys for it: the one that signed it first, then others, the newest first.

    The others are those of earlier signatures, and good keys of the same custody. Clients try one after the other, so a
    copy of an earlier signature still finds its key. Expired and retired keys stay: clients accept their signatures,
    and a rotation must not break lock files. Revoked keys are left out, so that clients refuse what they signed. One
    query for all of it, with a row for each package and key.
    """
    former = FormerSignature.objects.filter(version=OuterRef("version"), key=OuterRef("signer"))
    is_good = Q(signer_expires_at=None) | Q(signer_expires_at__gt=now)
    usable = Q(is_good, signer_state=State.ACTIVE, signer_custody=F("version__signing"))
    rows: Any = packages.annotate(signer=F(_KEYS), **_OF_KEY, **_SERVED)
    rows = list(
        rows.filter(Q(signer=F("version__key")) | usable | Exists(former)).order_by("-signer_added_at", "-signer")
    )
    found = {row.pk: row for row in rows}
    first = [row for row in rows if row.pk == rows[0].pk and row.signer_state != State.REVOKED]
    signers = sorted(first, key=lambda row: row.signer != row.version.key_id)
    keys = [PublicKey._make(getattr(row, f"signer_{column}") for column in PublicKey._fields) for row in signers]
    return list(found.values()), keys


def is_ending(key: SigningKey | Key, now: datetime) -> bool:
    """The key should be replaced soon, or should have been; a retired key has been."""
    return key.state == State.ACTIVE and key.expires_at is not None and key.expires_at <= now + AHEAD
