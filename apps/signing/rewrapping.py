"""Exchange the key-encryption key (D12): seal each private half again under the newest one, wherever that is."""

from collections.abc import Iterator

from django.db import transaction

from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import RegistryError
from apps.signing import vault
from apps.signing.models import PrivateKey, PrivateStatementKey, SigningKey
from apps.signing.vault import Key, Private


def outdated() -> list[Private]:
    """Return private keys that are not sealed under the newest key-encryption key. Raises SignerUnavailable."""
    newest = vault.newest_kek_id()
    return [private for private in every_private() if private.kek_id != newest]


def rewrap_all(*, also_current: bool = False) -> Iterator[tuple[Key, RegistryError | None]]:
    """Seal each again; yield its key, and why it could not be opened: then its row is unchanged.

    `also_current`: also those under the newest key, of which a key service may have a newer version. Raises
    SignerUnavailable.
    """
    for private in every_private() if also_current else outdated():
        try:
            _rewrap(private)
        except vault.KeyServiceAway:
            raise  # the others would only wait as long
        except RegistryError as problem:
            yield private.key, problem
        else:
            yield private.key, None


def has_any() -> bool:
    """Return whether a private half is stored. The role of web processes can ask for that, and read none."""
    return PrivateKey.objects.exists() or PrivateStatementKey.objects.exists()


def every_private() -> list[Private]:
    """Return the private halves of all keys: of namespaces, and of the registry."""
    of_namespaces = PrivateKey.objects.select_related("key__namespace").order_by("pk")
    return [*of_namespaces, *PrivateStatementKey.objects.select_related("key").order_by("pk")]


def subject_of(key: Key) -> str:
    """Name whose key it is, for the audit and for people."""
    return str(key.namespace) if isinstance(key, SigningKey) else "statements"


def _rewrap(private: Private) -> None:
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
        if type(private).objects.filter(pk=private.pk, nonce=bytes(private.nonce)).update(**changes):
            of_namespace = isinstance(private, PrivateKey)
            record(
                Kind.KEY_RESEALED if of_namespace else Kind.STATEMENT_KEY_RESEALED,
                actor_id=None,
                subject=subject_of(private.key),
                key=private.key_id,
                fingerprint=private.key.fingerprint,
                before=private.kek_id,
                after=fresh.kek_id,
            )
