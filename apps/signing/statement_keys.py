"""Keys of the registry itself, with which signing workers sign statements about releases (D27).

One Ed25519 key is active. A worker makes it when the first statement needs it, and the next one after a rotation; those
that were retired stay listed, because what they signed stays valid.
"""

import hashlib
from typing import NamedTuple

import structlog
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.jobs import queue
from apps.jobs.claims import Claim, Outage
from apps.lib.errors import Conflict, Invalid
from apps.lib.formats import dsse
from apps.signing import fingerprints, vault
from apps.signing.models import PrivateStatementKey, StatementKey

JOB = "make-statement-key"
ALGORITHM = "ed25519"
PERMISSION = "signing.rotate_statementkey"
SUBJECT = "statements"

log = structlog.get_logger("larder.signing")


class BadStatement(Invalid):
    """The envelope is none, or this key did not sign it."""

    code = "bad_statement"


class Retired(Conflict):
    """The key was retired while it signed."""


class Verified(NamedTuple):
    payload_type: str
    payload: bytes


def listed() -> QuerySet[StatementKey]:
    """Return all keys, public halves only, the newest first."""
    return StatementKey.objects.order_by("-made_at", "-pk")


def sign(payload_type: str, payload: bytes) -> tuple[StatementKey, bytes]:
    """Return the active key and a DSSE envelope by it. Makes the key if there is none.

    The same payload under the same key gives the same bytes, so it is safe to repeat. In workers only: raises
    SignerUnavailable, SealBroken.
    """
    private = _active_private()
    key, secret = private.key, Ed25519PrivateKey.from_private_bytes(vault.unseal(private))
    signature = dsse.Signature(key.key_id, secret.sign(dsse.pae(payload_type, payload)))
    envelope = dsse.Envelope(payload_type, payload, (signature,)).as_bytes()
    verify(key, envelope)
    return key, envelope


def verify(key: StatementKey, envelope: bytes) -> Verified:
    """Return what this very key signed. Raises BadStatement."""
    try:
        found = dsse.parse(envelope)
    except dsse.Malformed as problem:
        raise BadStatement(
            f"Found {problem}, expected a DSSE envelope.", hint="Download the statement again."
        ) from None
    signatures = [one.signature for one in found.signatures if one.key_id == key.key_id]
    if not signatures:
        named = ", ".join(one.key_id[:64] or "(none)" for one in found.signatures[:3])
        raise BadStatement(
            f"Found a signature by the key {named}, expected one by {key.key_id}.",
            hint="Verify it with the key that it names, if the registry lists that key.",
        )
    try:
        _public(key).verify(signatures[0], dsse.pae(found.payload_type, found.payload))
    except InvalidSignature:
        raise BadStatement(
            f"The signature is not one of these bytes by the key {key.key_id}: the statement was changed, or another "
            "key signed it.",
            hint="Download the statement again; if it is the same, tell an operator.",
        ) from None
    return Verified(found.payload_type, found.payload)


def require_active(key: StatementKey) -> None:
    """The last check, in the transaction that stores what the key signed. Raises Retired."""
    if not StatementKey.objects.select_for_update(no_key=True).filter(pk=key.pk, retired_at=None).exists():
        raise Retired(f"The statement key {key} was retired in the meantime.")


@transaction.atomic
def rotate(*, actor: Viewer, key: StatementKey | None = None) -> StatementKey:
    """Retire the active key, and have a signing worker make the next one; return the retired one. Raises Conflict.

    `key`: the one that the caller believes to be active.
    """
    key = key or StatementKey.objects.filter(retired_at=None).first()
    if key is None:
        raise Conflict("There is no active statement key.", hint="A signing worker makes one with the next statement.")
    now = timezone.now()
    if not StatementKey.objects.filter(pk=key.pk, retired_at=None).update(retired_at=now):
        raise Conflict(f"The statement key {key} is retired already.", hint="Nothing is left to do with it.")
    key.retired_at = now
    actor.record(Kind.STATEMENT_KEY_ROTATED, subject=SUBJECT, key=key.pk, key_id=key.key_id)
    queue.enqueue_once(JOB, target=key.pk, created_by_id=actor.user_id)
    return key


def run(claim: Claim) -> None:
    """Make the key that follows a retired one, unless a statement was faster."""
    if claim.exhausted:
        log.error("statement_key_gave_up")
        return
    try:
        _active_private()
    except vault.SignerUnavailable as away:
        raise Outage(str(away)) from away


def _active_private() -> PrivateStatementKey:
    """Raises SignerUnavailable."""
    key = StatementKey.objects.filter(retired_at=None).first() or _make()
    private = PrivateStatementKey.objects.select_related("key").filter(key=key).first()
    if private is None:
        raise vault.SignerUnavailable(
            f"The private half of the statement key {key} is not stored here.",
            hint="Restore it from a backup, or rotate the key: manage.py rotate_statement_key",
        )
    return private


def _make() -> StatementKey:
    """Make the active key; if another worker is faster, return its key. Raises SignerUnavailable."""
    secret = Ed25519PrivateKey.generate()
    public = secret.public_key()
    key_id = hashlib.sha256(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    # Before the transaction: a key service may take seconds. Nobody asked for this key, so it must not replace a
    # key-encryption key that is only away: the new one would open nothing that is stored.
    data_key = vault.new_data_key(key_id, may_make=not fingerprints.is_kek_recorded())
    try:
        with transaction.atomic():
            key = StatementKey.objects.create(key_id=key_id, public_key=pem)
            vault.seal(key, secret.private_bytes_raw(), data_key).save()
            record(Kind.STATEMENT_KEY_MADE, actor_id=None, subject=SUBJECT, key=key.pk, key_id=key_id)
    except IntegrityError:
        return StatementKey.objects.get(retired_at=None)
    log.info("statement_key_made", key_id=key_id)
    return key


def _public(key: StatementKey) -> Ed25519PublicKey:
    found = load_pem_public_key(key.public_key.encode())
    assert isinstance(found, Ed25519PublicKey)  # noqa: S101  # no other is made
    return found
