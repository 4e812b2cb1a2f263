"""Verify a publisher's signature (D11): binary and detached, by a strong key of the namespace."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.db.models.functions import Now

from apps.lib.errors import Invalid, Reason
from apps.signing import findings, packets
from apps.signing.findings import Finding
from apps.signing.models import SigningKey, State

MAX_SIGNATURE_BYTES = 64 * 1024
STRONG_DIGESTS = ("SHA-256", "SHA-384", "SHA-512")
# A signature by an RSA key of 2048 bits begins with so many zeros once in 2^512 times.
WEAK_RSA_BITS = 1536
RSA, DSA = 1, 17
BINARY_DOCUMENT = 0
INLINE_TAGS = (4, 8, 11, 18)  # one-pass, compressed, literal, encrypted
# Subpackets that Terraform's ProtonMail/go-crypto 1.0.0 reads; it refuses other critical ones. Notations (20) are
# missing: it reads them, and knows none.
READ_BY_CLIENTS = frozenset({2, 3, 5, 6, 9, 11, 16, 21, 22, 25, 26, 27, 28, 29, 30, 32, 33, 39})
SUBPACKETS = {20: "notation", 24: "preferred key server"}
# Clients treat a signature from the future as expired. By the database's clock, which all hosts share. Workers have
# more tolerance (signer.CLOCK_MAY_DIFFER): operators can set their clocks.
CLOCK_MAY_DIFFER = timedelta(seconds=10)

EXPECTED_SIGNATURE = "one binary detached signature"
SIGN = "Sign the sums again: gpg --local-user FINGERPRINT --digest-algo SHA512 --detach-sign FILE"


class BadSignature(Invalid):
    def __init__(self, code: str, found: str, expected: str, hint: str = SIGN) -> None:
        self.reason = Reason(code, found, expected, hint)
        super().__init__(f"Found {found}, expected {expected}.", hint=hint)


def verify(*, data: bytes, signature: bytes, keys: Sequence[SigningKey], was_accepted: bool = False) -> SigningKey:
    """Return the key that made the signature. Raises BadSignature.

    Pass all keys that were ever registered, so that an ended one is refused with its reason. `was_accepted`: the
    signature was valid before, so an expired or retired key still counts; a revoked one never does.
    """
    head = _head(signature)
    key = _maker(head, keys, was_accepted=was_accepted)
    _check(key, head, findings.ask(key.armor, data, signature), now=_now(), was_accepted=was_accepted)
    return key


def problems(key: SigningKey, signed: Sequence[tuple[bytes, bytes]]) -> list[BadSignature | None]:
    """Return what `verify` would raise for each pair of data and an accepted signature of the key, in a fraction of the
    time.
    """
    found: list[BadSignature | None] = []
    heads: dict[int, packets.SignatureHead] = {}
    for number, (_, signature) in enumerate(signed):
        try:
            head = _head(signature)
            _maker(head, [key], was_accepted=True)
        except BadSignature as refused:
            found.append(refused)
        else:
            heads[number] = head
            found.append(None)
    if heads:
        now = _now()
        answers = findings.ask_many(key.armor, [signed[number] for number in heads])
        for (number, head), answer in zip(heads.items(), answers, strict=True):
            try:
                _check(key, head, answer, now=now, was_accepted=True)
            except BadSignature as refused:
                found[number] = refused
    return found


def _now() -> datetime:
    now: datetime = SigningKey.objects.values_list(Now(), flat=True)[:1].get()
    return now


def _maker(head: packets.SignatureHead, keys: Sequence[SigningKey], *, was_accepted: bool) -> SigningKey:
    """Return the key that the signature names. Raises BadSignature unless it counts."""
    made_by = [key for key in keys if key.armor and findings.is_by(key.armor, head.issuer)]
    if not made_by:
        known = ", ".join(key.fingerprint for key in keys) or "none"
        raise BadSignature(
            "signature_foreign",
            f"a signature by the key {head.issuer or 'that it does not name'}",
            f"one by a key of the namespace (registered: {known})",
            "Sign with a registered key, or ask an owner to register this one.",
        )
    key = made_by[0]
    wanted = "one by an active key"
    if key.state == State.REVOKED:
        raise BadSignature("signature_revoked_key", f"a signature by {key}, which was revoked", wanted)
    if key.state != State.ACTIVE and not was_accepted:
        raise BadSignature("signature_retired_key", f"a signature by {key}, which is {key.state}", wanted)
    if key.is_expired and not was_accepted:
        raise _expired_key(key)
    return key


def _head(signature: bytes) -> packets.SignatureHead:
    """Return the only signature packet, checked as far as possible without a key."""
    if not signature.strip():
        raise BadSignature("signature_empty", "an empty file", EXPECTED_SIGNATURE)
    text = signature.lstrip()
    if text.startswith(b"-----BEGIN PGP SIGNED MESSAGE"):
        raise BadSignature("signature_inline", "a clear-signed text", EXPECTED_SIGNATURE)
    if text.startswith(b"-----BEGIN PGP"):
        raise BadSignature(
            "signature_armoured",
            "an armoured signature",
            EXPECTED_SIGNATURE,
            "Leave --armor out, or run: gpg --dearmor FILE",
        )
    if len(signature) > MAX_SIGNATURE_BYTES:
        raise BadSignature("signature_bad", f"{len(signature):,} bytes", f"at most {MAX_SIGNATURE_BYTES:,}")
    if signature[0] & 0x80 and packets.first_tag(signature) in INLINE_TAGS:
        raise BadSignature("signature_inline", "a signed message", EXPECTED_SIGNATURE)
    try:
        found = list(packets.packets(signature))
        if any(packet.tag != packets.SIGNATURE for packet in found):
            raise BadSignature("signature_bad", "data in addition to a signature", EXPECTED_SIGNATURE)
        if len(found) != 1:
            raise BadSignature("signature_several", f"{len(found)} signatures", EXPECTED_SIGNATURE)
        head = packets.signature_head(found[0])
    except packets.Malformed as problem:
        raise BadSignature("signature_bad", str(problem), EXPECTED_SIGNATURE) from None
    _check_head(head)
    return head


def _check_head(head: packets.SignatureHead) -> None:
    if head.version != 4 or head.kind != BINARY_DOCUMENT:  # noqa: PLR2004  # the version that all clients read
        found = f"a signature of version {head.version}, kind {head.kind}"
        raise BadSignature("signature_bad", found, "version 4, over a binary document")
    if head.digest not in STRONG_DIGESTS:
        raise BadSignature("signature_weak_digest", f"a signature over {head.digest}", ", ".join(STRONG_DIGESTS))
    strange = sorted(set(head.critical) - READ_BY_CLIENTS)
    if strange:
        named = ", ".join(f"{kind} ({SUBPACKETS[kind]})" if kind in SUBPACKETS else str(kind) for kind in strange)
        raise BadSignature(
            "signature_critical",
            f"a signature that marks as critical: subpacket {named}",
            "one without it: clients reject unknown critical subpackets",
            f"Leave out the ! at the start of --sig-keyserver-url and --sig-notation. {SIGN}",
        )
    if head.algorithm == DSA or (head.algorithm == RSA and head.bits <= WEAK_RSA_BITS):
        found = "a DSA signature" if head.algorithm == DSA else f"a signature by an RSA key of {head.bits} bits or so"
        raise _weak(found)


def _check(key: SigningKey, head: packets.SignatureHead, found: Finding, *, now: datetime, was_accepted: bool) -> None:
    if found.key_is_revoked:
        raise BadSignature("signature_revoked_key", f"a signature by {head.issuer}, which was revoked", "another key")
    if found.key_has_expired and not was_accepted:
        raise _expired_key(key)
    if found.is_expired or found.ends_at:
        end = f"{datetime.fromtimestamp(found.ends_at, UTC):%Y-%m-%d}" if found.ends_at else "an earlier day"
        raise BadSignature(
            "signature_expired",
            f"a signature that expires on {end}",
            "one without an expiry: clients reject the release after that date",
            "Sign again without --default-sig-expire.",
        )
    made_at = datetime.fromtimestamp(head.made_at, UTC)
    if made_at > now + CLOCK_MAY_DIFFER:
        raise BadSignature(
            "signature_future",
            f"a signature dated {made_at:%Y-%m-%d %H:%M:%S} UTC, at {now:%Y-%m-%d %H:%M:%S} UTC",
            "one not dated in the future: clients treat it as expired",
            f"Set the clock of the signing machine. {SIGN}",
        )
    if not (found.is_valid or found.key_has_expired) or found.primary != key.fingerprint:
        raise BadSignature(
            "signature_bad",
            "a signature over other bytes, or a damaged one",
            f"one by {key.fingerprint} over exactly these bytes",
        )
    if not found.is_strong:
        raise _weak("a signature by a weak subkey")


def _expired_key(key: SigningKey) -> BadSignature:
    end = f" on {key.expires_at:%Y-%m-%d}" if key.expires_at else ""
    return BadSignature(
        "signature_expired_key",
        f"a signature by {key}, which expired{end}",
        "one by a key that has not expired",
        "Sign with another registered key, or ask an owner to register one.",
    )


def _weak(found: str) -> BadSignature:
    return BadSignature("signature_weak_key", found, "RSA with at least 2048 bits, Ed25519 or ECDSA over a NIST curve")
