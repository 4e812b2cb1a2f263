"""Exchange the key-encryption key (D12): seal each private half again under the newest one, wherever that is."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import RegistryError
from apps.signing import vault
from apps.signing.models import PrivateKey, SigningKey


@dataclass(frozen=True, slots=True)
class Outcome:
    """`problem` is why a private half could not be opened; its row is unchanged."""

    key: SigningKey
    problem: RegistryError | None = None


def outdated() -> QuerySet[PrivateKey]:
    """Return private keys that are not sealed under the newest key-encryption key. Raises SignerUnavailable."""
    return _all().exclude(kek_id=vault.newest_kek_id())


def rewrap_all(*, also_current: bool = False) -> Iterator[Outcome]:
    """Seal each again; one that does not open stays as it is. Raises SignerUnavailable.

    `also_current`: also those under the newest key, of which a key service may have a newer version.
    """
    for private in _all() if also_current else outdated():
        try:
            _rewrap(private)
        except vault.KeyServiceAway:
            raise  # the others would only wait as long
        except RegistryError as problem:
            yield Outcome(private.key, problem)
        else:
            yield Outcome(private.key)


def _all() -> QuerySet[PrivateKey]:
    return PrivateKey.objects.select_related("key__namespace").order_by("pk")


def _rewrap(private: PrivateKey) -> None:
    fresh = vault.seal(private.key, vault.unseal(private))
    changes = {
        "nonce": fresh.nonce,
        "ciphertext": fresh.ciphertext,
        "kek_id": fresh.kek_id,
        "wrapped_key": fresh.wrapped_key,
    }
    with transaction.atomic():
        # If something else sealed it meanwhile (a renewal, a second command), it used the newest as well. Each seal has
        # another nonce.
        if PrivateKey.objects.filter(pk=private.pk, nonce=bytes(private.nonce)).update(**changes):
            record(
                Kind.KEY_RESEALED,
                actor_id=None,
                subject=str(private.key.namespace),
                key=private.key_id,
                fingerprint=private.key.fingerprint,
                before=private.kek_id,
                after=fresh.kek_id,
            )
