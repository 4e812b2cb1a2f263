"""Private keys at rest: AES-256-GCM, bound to their row, sealed under a key that only workers reach (D12).

That is a line of a file, or a data key for each row, which a key service wraps (LARDER_SIGNING_KEK_URL).
"""

import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import overload

import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

from apps.lib.errors import RegistryError
from apps.lib.process.durable import make_folder, settle
from apps.lib.settings_values.kek_urls import KeyAddress
from apps.signing import fingerprints, kms
from apps.signing.kms import KeyService, KeyServiceAway, SignerUnavailable
from apps.signing.models import PrivateKey, PrivateStatementKey, SigningKey, StatementKey

__all__ = ["KeyServiceAway", "SealBroken", "SignerUnavailable"]

# Also in the context of data keys, which a policy of a key service may require.
PURPOSE = "sign releases"
STATEMENT_PURPOSE = "sign statements"
# Keys of namespaces, and those of the registry itself: sealed alike, each bound to its row and its purpose.
Key = SigningKey | StatementKey
Private = PrivateKey | PrivateStatementKey
_REMEDIES: dict[type[Private], str] = {
    PrivateKey: "revoke this key and generate another",
    PrivateStatementKey: "rotate this key",
}
NONCE_BYTES = 12
KEK_BYTES = 32

log = structlog.get_logger("larder.signing")


class SealBroken(RegistryError):
    """A private key's ciphertext is not the one that was stored for this row."""

    code = "seal_broken"


@dataclass(frozen=True, slots=True)
class DataKey:
    """The key that encrypts one private half. `wrapped` is what a key service made of it; None: it is a line of the
    file.
    """

    kek_id: str
    secret: bytes
    wrapped: bytes | None = None


_unlocked = False


def unlock() -> None:
    """Let this process reach the key-encryption key: workers and commands on their hosts, never web processes.

    Neither the file nor the service is asked yet: they may come later.
    """
    global _unlocked  # noqa: PLW0603  # one fact about this process, and children of a prefork pool inherit it
    _unlocked = True


def is_for_this_host() -> bool:
    """Return whether the workers of this host sign, by LARDER_WORKER_QUEUES."""
    return "sign" in settings.WORKER_QUEUES


def lock() -> None:
    """Undo `unlock`."""
    global _unlocked  # noqa: PLW0603
    _unlocked = False
    kms.forget()


@overload
def seal(key: SigningKey, secret: bytes, data_key: DataKey | None = None) -> PrivateKey: ...


@overload
def seal(key: StatementKey, secret: bytes, data_key: DataKey | None = None) -> PrivateStatementKey: ...


def seal(key: Key, secret: bytes, data_key: DataKey | None = None) -> Private:
    """Return an unsaved row with the private half under the newest key-encryption key. Raises SignerUnavailable.

    `data_key`: from `new_data_key`, so that no key service is asked in the caller's transaction.
    """
    data_key = data_key or new_data_key(key.fingerprint)
    compare_keks()
    nonce = secrets.token_bytes(NONCE_BYTES)
    ciphertext = AESGCM(data_key.secret).encrypt(nonce, secret, _bound_to(key))
    sealed = {"nonce": nonce, "ciphertext": ciphertext, "kek_id": data_key.kek_id, "wrapped_key": data_key.wrapped}
    return PrivateKey(key=key, **sealed) if isinstance(key, SigningKey) else PrivateStatementKey(key=key, **sealed)


def new_data_key(fingerprint: str, *, may_make: bool = True) -> DataKey:
    """Return what encrypts the private half of the key with this fingerprint. Raises SignerUnavailable.

    `may_make`: the default file, if it is not there.
    """
    kek = _keks(may_make=may_make)[0]
    if isinstance(kek, bytes):
        return DataKey(_id_of(kek), kek)
    secret = secrets.token_bytes(KEK_BYTES)
    return DataKey(kek.id, secret, kek.wrap(secret, _context(fingerprint)))


def unseal(private: Private) -> bytes:
    """Return the private half. Raises SignerUnavailable (no or another key-encryption key, or its service is away)
    and SealBroken.
    """
    try:
        data_key = _data_key_of(private)
        return AESGCM(data_key).decrypt(bytes(private.nonce), bytes(private.ciphertext), _bound_to(private.key))
    except (InvalidTag, ValueError, kms.NotUnwrapped):
        log.critical("private_key_tampered", key=private.key_id, fingerprint=private.key.fingerprint)
        raise SealBroken(
            f"The private key of {private.key} is damaged or was replaced.",
            hint=f"Find out who has write access to the database; then {_REMEDIES[type(private)]}.",
        ) from None
    except KeyServiceAway as away:
        log.error("key_service_away", error=str(away))  # noqa: TRY400  # the traceback adds nothing
        raise


def _data_key_of(private: Private) -> bytes:
    """Raises SignerUnavailable and NotUnwrapped."""
    keks = _keks()
    context = _context(private.key.fingerprint)
    wrapped = bytes(private.wrapped_key or b"")
    for kek in keks:
        if _id_of(kek) == private.kek_id:
            return kek if isinstance(kek, bytes) else kms.unwrap(kek, wrapped, context)
    # The id of a service's key is that of its address, which may have changed; the service knows what it wrapped.
    for kek in keks:
        if wrapped and not isinstance(kek, bytes):
            with suppress(kms.NotUnwrapped):
                return kms.unwrap(kek, wrapped, context)
    found = ", ".join(_id_of(kek) for kek in keks)
    log.error("kek_wrong", key=private.key_id, sealed_under=private.kek_id, found=found)
    raise SignerUnavailable(
        f"The private key of {private.key} is sealed under the key-encryption key {private.kek_id}; "
        f"this worker has {found}.",
        hint="Give every worker the file with which the key was sealed (LARDER_SIGNING_KEK_FILE), or name its key "
        "service (LARDER_SIGNING_KEK_URL).",
    )


def compare_keks() -> None:
    """Log if none of this host's keys is the recorded key; record it if there is none. Raises SignerUnavailable."""
    if problem := fingerprints.kek_problem(kek_ids(), record=True):
        log.error("kek_differs", problem=problem)


def kek_ids() -> list[str]:
    """Return the id of each key-encryption key, the newest first. Raises SignerUnavailable."""
    return [_id_of(kek) for kek in _keks()]


def newest_kek_id() -> str:
    """Return the id of the key-encryption key that seals. Raises SignerUnavailable."""
    return kek_ids()[0]


def newest_kek_title() -> str:
    newest = settings.SIGNING_KEKS[0]
    return f"the key of {newest.title}" if newest else "the first line of the file"


def uses_file() -> bool:
    return None in settings.SIGNING_KEKS


def report() -> None:
    """Record for /status where this worker's newest key-encryption key is, and that it answers."""
    if not (_unlocked and fingerprints.is_kek_recorded()):
        return  # a new Larder, whose file the first key makes
    newest = settings.SIGNING_KEKS[0]
    is_answering = True
    try:
        kek_ids()
        for service in services():
            try_service(service)
    except SignerUnavailable as away:
        log.error("key_service_away", error=str(away))  # noqa: TRY400  # the traceback adds nothing
        is_answering = False
    fingerprints.record_kek_place(newest.kind if newest else "file", is_answering=is_answering)


def services() -> list[KeyService]:
    """Return the key services of this host's settings. None of them is asked."""
    return [_service(address) for address in settings.SIGNING_KEKS if address is not None]


def try_service(service: KeyService) -> float:
    """Let the service wrap and unwrap a key, and return the seconds that it took. Raises SignerUnavailable."""
    _require_unlocked()
    began = time.monotonic()
    # No key has this fingerprint; a policy of the service may require the rest.
    secret, context = secrets.token_bytes(KEK_BYTES), _context("try")
    try:
        is_same = service.unwrap(service.wrap(secret, context), context) == secret
    except kms.NotUnwrapped:
        is_same = False
    if not is_same:
        raise KeyServiceAway(f"{service.title} failed to unwrap the key it has just wrapped.", hint="Check its key.")
    return time.monotonic() - began


def _context(fingerprint: str) -> kms.Context:
    """Return what a wrapped data key is bound to. AWS writes it into its own log of requests."""
    return {"larder": PURPOSE, "fingerprint": fingerprint}


def _bound_to(key: Key) -> bytes:
    """Return the associated data, with which a ciphertext opens only in this row and for this key."""
    purpose = PURPOSE if isinstance(key, SigningKey) else STATEMENT_PURPOSE
    return f"larder\0{key.pk}\0{key.fingerprint}\0{purpose}".encode()


def _require_unlocked() -> None:
    if not _unlocked:
        raise SignerUnavailable("This process has no key-encryption key: only workers sign.", hint="Run a worker.")


def _keks(*, may_make: bool = False) -> list[bytes | KeyService]:
    """Return lines of the file and services, in the order of the settings: the first seals, all of them open."""
    _require_unlocked()
    return list(_listed(may_make=may_make and settings.SIGNING_KEKS[0] is None))


def _listed(*, may_make: bool) -> Iterator[bytes | KeyService]:
    for address in settings.SIGNING_KEKS:
        if address is None:
            path = settings.SIGNING_KEK_FILE
            # Only the default file: hosts that each make their own could not read one another's rows.
            if may_make and path == settings.DATA_DIR / "signing" / "kek":
                _make(path)
            try:
                keks = [bytes.fromhex(line) for line in path.read_text().split()]
            except OSError as error:
                log.error("kek_unreadable", error=error.strerror)  # noqa: TRY400  # the traceback adds nothing
                raise SignerUnavailable(
                    f"The file of the key-encryption key cannot be read: {error.strerror}.",
                    hint="Check LARDER_SIGNING_KEK_FILE on this worker, or restore the file from its backup.",
                ) from None
            except ValueError:
                keks = []
            if not keks or any(len(kek) != KEK_BYTES for kek in keks):
                log.error("kek_malformed")
                raise SignerUnavailable(
                    "The file of the key-encryption key does not have 64 hex digits on each line.",
                    hint="Create one with: openssl rand -hex 32",
                )
            yield from keks
        else:
            yield _service(address)


@cache
def _service(address: KeyAddress) -> KeyService:
    made: KeyService = resolve_name(address.service)(address)
    return made


def _make(path: Path) -> None:
    """Create the file once: of two workers at once, one links its file first."""
    if path.exists():
        return
    make_folder(path.parent)
    draft = path.with_name(f".kek-{os.getpid()}-{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(KEK_BYTES) + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
        log.info("kek_made")
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    # Before anything is sealed with it: rows survive a power cut, and would be lost without their key.
    settle(path.parent)


def _id_of(kek: bytes | KeyService) -> str:
    return hashlib.sha256(kek).hexdigest()[:16] if isinstance(kek, bytes) else kek.id
