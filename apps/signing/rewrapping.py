"""Exchanging the key-encryption key (D12): each private half is sealed anew under the newest one."""

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
    """`problem` is what kept a private half from being opened; its row is as it was."""

    key: SigningKey
    problem: RegistryError | None = None


def outdated() -> QuerySet[PrivateKey]:
    """Those under another key-encryption key than the newest. Raises SignerUnavailable."""
    rows = PrivateKey.objects.exclude(kek_id=vault.newest_kek_id())
    return rows.select_related("key__namespace").order_by("pk")


def rewrap_all() -> Iterator[Outcome]:
    """Seal each of them anew. One that does not open stays, and the others go on. Raises SignerUnavailable."""
    for private in outdated():
        try:
            _rewrap(private)
        except RegistryError as problem:
            yield Outcome(private.key, problem)
        else:
            yield Outcome(private.key)


def _rewrap(private: PrivateKey) -> None:
    fresh = vault.seal(private.key, vault.unseal(private))
    changes = {"nonce": fresh.nonce, "ciphertext": fresh.ciphertext, "kek_id": fresh.kek_id}
    with transaction.atomic():
        # Whoever sealed it meanwhile (a renewed key, a second command) had the newest as well.
        if PrivateKey.objects.filter(pk=private.pk, kek_id=private.kek_id).update(**changes):
            record(
                Kind.KEY_RESEALED,
                actor_id=None,
                subject=str(private.key.namespace),
                key=private.key_id,
                fingerprint=private.key.fingerprint,
                before=private.kek_id,
                after=fresh.kek_id,
            )
