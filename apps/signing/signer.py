"""Sign in a worker (D12): a private half is unsealed in memory for one signature."""

import subprocess
import threading
from datetime import UTC, datetime, timedelta

import structlog
from django.db.models.functions import Now

from apps.lib.errors import Conflict, Unavailable
from apps.lib.process import metrics
from apps.signing import gnupg_home, packets, vault
from apps.signing.gpg import TIMEOUT_SECONDS, Gpg, environment, program
from apps.signing.models import Custody, PrivateKey, SigningKey, State
from apps.signing.vault import SealBroken, SignerUnavailable

__all__ = ["SealBroken", "SignerUnavailable", "SigningFailed", "sign"]

# Each signature runs gpg and an agent with 32 kB of locked memory each; more at once only wait for one another.
CONCURRENCY = threading.BoundedSemaphore(4)

# Clients treat a signature from the future as expired. By the database's clock, which all hosts share.
CLOCK_MAY_DIFFER = timedelta(minutes=10)

log = structlog.get_logger("larder.signing")


class SigningFailed(Unavailable):
    """gpg made no signature, or one that does not verify."""

    code = "signing_failed"

    def __init__(self, step: str, why: str) -> None:
        self.step = step  # import, sign, verify or clock
        log.error("signing_failed", step=step, why=why)
        metrics.gpg_failures.labels(step).inc()
        super().__init__(f"Signing failed: {why}.", hint="Larder will retry; the log has details for an operator.")


def sign(*, key: SigningKey, data: bytes) -> bytes:
    """Return a binary detached signature that was verified with the public key.

    Raises Conflict (the key may not sign), SignerUnavailable, SealBroken and SigningFailed.
    """
    if key.custody != Custody.REGISTRY or key.state != State.ACTIVE or key.is_expired:
        state = "expired" if key.is_expired else key.state
        raise Conflict(f"The key {key} cannot sign: it is {state}, in the custody of the {key.custody}.")
    private = PrivateKey.objects.select_related("key").annotate(now=Now()).filter(key=key).first()
    if private is None:
        raise Conflict(f"The private key of {key} is not stored here.", hint="Generate another key.")
    secret = vault.unseal(private)
    now: datetime = private.now
    with CONCURRENCY:
        signature = _sign(key, secret, data)
        made_at = _verify(key, signature, data)
    if abs(made_at - now) > CLOCK_MAY_DIFFER:
        raise SigningFailed(
            "clock", f"this worker dates it {made_at:%Y-%m-%d %H:%M}, the database {now:%Y-%m-%d %H:%M}"
        )
    return signature


def _sign(key: SigningKey, secret: bytes, data: bytes) -> bytes:
    with gnupg_home.home(private=True) as home:
        gpg = Gpg(home, private=True)
        imported = gpg.import_keys(secret)
        if set(imported.fingerprints) != {key.fingerprint} or imported.sec_imported != 1:
            raise SigningFailed("import", "the stored private key is a different one, or cannot be read")
        # With `!` gpg signs by this very key, else by a subkey of it; the stored armour has signing subkeys only.
        found = packets.packets(packets.dearmored(key.armor))
        has_subkey = any(packet.tag == packets.PUBLIC_SUBKEY for packet in found)
        signer = ["--local-user", key.fingerprint if has_subkey else f"{key.fingerprint}!"]
        made = gpg.sign(data, detach=True, clearsign=False, binary=True, extra_args=signer)
        signature = bytes(made.data)
        if made.returncode != 0 or not signature or signature.startswith(b"-----"):
            raise SigningFailed("sign", f"gpg created no binary signature ({made.status})")
    return signature


def _verify(key: SigningKey, signature: bytes, data: bytes) -> datetime:
    """Verify with gpgv, which knows only this public key, and return when the signature was made."""
    with gnupg_home.home() as home:
        ring, mark = home / "key", home / "signature"
        ring.write_bytes(packets.dearmored(key.armor))
        mark.write_bytes(signature)
        try:
            done = subprocess.run(  # noqa: S603  # a list; fingerprints and paths are ours
                [program("gpgv"), "--homedir", home, "--status-fd", "1", "--keyring", ring, mark, "-"],
                input=data,
                env=environment(home),
                capture_output=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SigningFailed("verify", "gpgv did not finish") from None
    said = [line.split() for line in done.stdout.decode(errors="replace").splitlines()]
    valid = [words for words in said if words[1:2] == ["VALIDSIG"]]
    # The last word is the fingerprint of the primary key.
    if done.returncode != 0 or len(valid) != 1 or valid[0][-1] != key.fingerprint:
        raise SigningFailed("verify", "the signature does not verify with the public key")
    return datetime.fromtimestamp(int(valid[0][4]), UTC)
