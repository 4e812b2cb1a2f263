"""Private keys at rest: AES-256-GCM, bound to their row, sealed under a key that only workers read (D12)."""

import hashlib
import os
import secrets
from pathlib import Path

import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

from apps.lib.durable import make_folder, settle
from apps.lib.errors import RegistryError, Unavailable
from apps.signing import fingerprints
from apps.signing.models import PrivateKey, SigningKey

PURPOSE = "sign releases"
NONCE_BYTES = 12
KEK_BYTES = 32

log = structlog.get_logger("larder.signing")


class SignerUnavailable(Unavailable):
    """This process cannot open the private keys; another can, or this one later."""

    code = "signer_unavailable"


class SealBroken(RegistryError):
    """A private key's ciphertext is not the one that was stored for this row."""

    code = "seal_broken"


_unlocked = False


def unlock() -> None:
    """Let this process read the key-encryption key: workers and commands on their hosts, never web processes.

    The file is not read yet: it may come later.
    """
    global _unlocked  # noqa: PLW0603  # one fact about this process, and children of a prefork pool inherit it
    _unlocked = True


def is_for_this_host() -> bool:
    """Tell whether the workers of this host sign, by LARDER_WORKER_QUEUES."""
    return "sign" in settings.WORKER_QUEUES


def lock() -> None:
    """Undo `unlock`."""
    global _unlocked  # noqa: PLW0603
    _unlocked = False


def seal(key: SigningKey, secret: bytes) -> PrivateKey:
    """Return an unsaved row with the private half under the newest key-encryption key. Raises SignerUnavailable."""
    kek = _keks(may_make=True)[0]
    compare_keks()
    nonce = secrets.token_bytes(NONCE_BYTES)
    ciphertext = AESGCM(kek).encrypt(nonce, secret, _bound_to(key))
    return PrivateKey(key=key, nonce=nonce, ciphertext=ciphertext, kek_id=_id_of(kek))


def unseal(private: PrivateKey) -> bytes:
    """Return the private half. Raises SignerUnavailable (no or another key-encryption key) and SealBroken."""
    keks = {_id_of(kek): kek for kek in _keks()}
    kek = keks.get(private.kek_id)
    if kek is None:
        log.error("kek_wrong", key=private.key_id, sealed_under=private.kek_id, found=", ".join(keks))
        raise SignerUnavailable(
            f"The private key of {private.key} is sealed under the key-encryption key {private.kek_id}; "
            f"this worker has {', '.join(keks)}.",
            hint="Give every worker the file with which the key was sealed (LARDER_SIGNING_KEK_FILE).",
        )
    try:
        return AESGCM(kek).decrypt(bytes(private.nonce), bytes(private.ciphertext), _bound_to(private.key))
    except (InvalidTag, ValueError):
        log.critical("private_key_tampered", key=private.key_id, fingerprint=private.key.fingerprint)
        raise SealBroken(
            f"The private key of {private.key} is damaged or was replaced.",
            hint="Find out who can write to the database; then revoke this key and generate another.",
        ) from None


def compare_keks() -> None:
    """Log if no line of the file is the recorded key; record it if there is none. Raises SignerUnavailable."""
    if problem := fingerprints.kek_problem(kek_ids(), record=True):
        log.error("kek_differs", problem=problem)


def kek_ids() -> list[str]:
    """Return the id of each line of the file, the newest first. Raises SignerUnavailable."""
    return [_id_of(kek) for kek in _keks()]


def newest_kek_id() -> str:
    """Return the id of the key-encryption key that seals. Raises SignerUnavailable."""
    return kek_ids()[0]


def _bound_to(key: SigningKey) -> bytes:
    """Return the associated data, with which a ciphertext opens only in this row and for this key."""
    return f"larder\0{key.pk}\0{key.fingerprint}\0{PURPOSE}".encode()


def _keks(*, may_make: bool = False) -> list[bytes]:
    """Return the keys in the file: the first seals, all of them open."""
    if not _unlocked:
        raise SignerUnavailable("This process has no key-encryption key: only workers sign.", hint="Run a worker.")
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
    return keks


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


def _id_of(kek: bytes) -> str:
    return hashlib.sha256(kek).hexdigest()[:16]
