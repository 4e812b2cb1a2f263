"""The keys that clients may verify a version with."""

from datetime import datetime, timedelta

from django.db.models import Q

from apps.providers.models import FormerSignature, ProviderVersion
from apps.signing.models import SigningKey, State

# How long before a key's end its users are told.
AHEAD = timedelta(days=60)


def keys_of(version: ProviderVersion, now: datetime) -> list[SigningKey]:
    """The key that signed it first, whatever has ended since, then those that signed it before it was signed anew, and
    those of the same custody that are good today.

    Clients try one after the other, and whoever holds a signature from before a signing anew finds its key here too. An
    expired or retired key goes on: clients accept what it signed, and a rotation must not break who has a lock file.
    A revoked one is left out, so that clients refuse what it signed.
    """
    usable = SigningKey.objects.usable(now).filter(namespace=version.provider.namespace_id, custody=version.signing)
    former = FormerSignature.objects.filter(version=version)
    by = Q(pk=version.key_id) | Q(pk__in=usable.values("pk")) | Q(pk__in=former.values("key"))
    found = SigningKey.objects.filter(by).newest_first()
    good = [key for key in found if key.state != State.REVOKED]
    return sorted(good, key=lambda key: key.pk != version.key_id)


def is_ending(key: SigningKey, now: datetime) -> bool:
    """Whether somebody should replace it soon, or should have: a retired key has been replaced."""
    return key.state == State.ACTIVE and key.expires_at is not None and key.expires_at <= now + AHEAD
