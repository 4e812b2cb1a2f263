"""The keys that clients may verify a version with."""

from datetime import datetime, timedelta

from django.db.models import Q

from apps.providers.listing import Key
from apps.providers.models import FormerSignature, ProviderVersion
from apps.signing.models import SigningKey, State

# Warn users of a key this long before it expires.
AHEAD = timedelta(days=60)


def keys_of(version: ProviderVersion, now: datetime) -> list[SigningKey]:
    """The key that signed the version first, those of later signatures, then good keys of the same custody.

    Clients try one after the other, so a copy of an earlier signature still finds its key. Expired and retired keys
    stay: clients accept their signatures, and a rotation must not break lock files. Revoked keys are left out, so that
    clients refuse what they signed.
    """
    usable = SigningKey.objects.usable(now).filter(namespace=version.provider.namespace_id, custody=version.signing)
    former = FormerSignature.objects.filter(version=version)
    by = Q(pk=version.key_id) | Q(pk__in=usable.values("pk")) | Q(pk__in=former.values("key"))
    signers = SigningKey.objects.filter(by).newest_first()
    good = [key for key in signers if key.state != State.REVOKED]
    return sorted(good, key=lambda key: key.pk != version.key_id)


def is_ending(key: SigningKey | Key, now: datetime) -> bool:
    """The key should be replaced soon, or should have been; a retired key has been."""
    return key.state == State.ACTIVE and key.expires_at is not None and key.expires_at <= now + AHEAD
