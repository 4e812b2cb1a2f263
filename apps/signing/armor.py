"""Read a public key that a person submits (D11): one block with one key that all clients can read."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from apps.lib.errors import Invalid, Reason
from apps.signing import gnupg_home, packets
from apps.signing.gpg import Gpg

MAX_KEY_BYTES = 64 * 1024
MIN_RSA_BITS, MAX_RSA_BITS = 2048, 8192
RSA, ECDSA, EDDSA = "1", "19", "22"
NIST = ("nistp256", "nistp384", "nistp521")
# Algorithm numbers (RFC 4880 section 9.1, RFC 9580 section 9.1) that gpg may not even import.
UNREADABLE = {
    16: "an ElGamal key",
    17: "a DSA key",
    20: "an ElGamal key",
    25: "an X25519 key of RFC 9580",
    26: "an X448 key of RFC 9580",
    27: "an Ed25519 key of RFC 9580",
    28: "an Ed448 key of RFC 9580",
}
EXPECTED_KEY = "RSA with at least 2048 bits, Ed25519 as GnuPG makes it, or ECDSA over a NIST curve"
ANOTHER = "Create another key: gpg --quick-gen-key 'Your name <you@example.com>' ed25519 sign"
EXPORT = "Export the one public key: gpg --armor --export FINGERPRINT"
# Drop photos, signatures of other people and subkeys that cannot sign.
MINIMAL = (
    "--export-options",
    "export-minimal,no-export-attributes",
    "--export-filter",
    "drop-subkey=usage !~ s",
)


class KeyRefused(Invalid):
    def __init__(self, code: str, found: str, expected: str, hint: str) -> None:
        self.reason = Reason(code, found, expected, hint)
        super().__init__(f"Found {found}, expected {expected}.", hint=hint)


@dataclass(frozen=True, slots=True)
class ParsedKey:
    """Its fields are columns of SigningKey."""

    fingerprint: str
    key_id: str
    algorithm: str
    uid: str
    made_at: datetime
    expires_at: datetime | None
    armor: str  # normalised and minimal


def parse(armor: str, *, known: str = "") -> ParsedKey:
    """Read the block with gpg in a fresh home. Raises KeyRefused.

    `known` is the stored version of the same key. gpg merges the two, so that the newer self-signature counts and no
    subkey is lost that signed older releases.
    """
    _check_outside(armor)
    with gnupg_home.home() as home:
        gpg = Gpg(home, options=MINIMAL)
        for block in (known, armor):
            if block:
                gpg.import_keys(block)
        return read_key(gpg)


def read_key(gpg: Gpg) -> ParsedKey:
    """Read the only key of a home. Raises KeyRefused if it cannot vouch for a release."""
    listed = gpg.list_keys()
    if len(listed) != 1:
        raise KeyRefused(
            "key_unreadable",
            "a key that gpg does not import: damaged, or without a self-signed user id",
            "a complete public key",
            EXPORT,
        )
    key: dict[str, Any] = listed[0]
    fingerprint = str(key["fingerprint"])
    _check_state(key)
    # The primary or the last signing subkey expires, whichever is first.
    last = [_when(part["expires"]) for part in _signers(key)]
    ends = [_when(key["expires"]), None if None in last else max(moment for moment in last if moment)]
    # gpg's UTF-8, which the library has read as Latin-1.
    uid = key["uids"][0].encode("latin-1", "replace").decode("utf-8", "replace") if key["uids"] else ""
    return ParsedKey(
        fingerprint=fingerprint,
        key_id=fingerprint[-16:],
        algorithm=_algorithm(_signers(key)[0]),
        uid=uid.replace("\0", "")[:300],
        made_at=_when(key["date"]) or timezone.now(),
        expires_at=min((moment for moment in ends if moment), default=None),
        armor=str(gpg.export_keys(fingerprint)),
    )


def is_strong(algorithm: str, bits: int, curve: str) -> bool:
    """Return whether releases may be signed with it: safe, and supported by all clients."""
    if algorithm == RSA:
        return bits >= MIN_RSA_BITS
    return (algorithm == EDDSA and curve == "ed25519") or (algorithm == ECDSA and curve in NIST)


def _check_outside(armor: str) -> None:
    """Refuse what can be recognised without gpg, with a better message."""
    if len(armor.encode()) > MAX_KEY_BYTES:
        size = f"{len(armor.encode()):,} bytes"
        raise KeyRefused("key_too_large", size, f"a public key of at most {MAX_KEY_BYTES:,} bytes", EXPORT)
    begun = packets.BEGIN.findall(armor)
    if "PRIVATE KEY BLOCK" in begun:
        raise _secret()
    if begun != ["PUBLIC KEY BLOCK"]:
        blocks = f"{len(begun)} armour blocks ({', '.join(begun)})" if begun else "no armour block"
        raise KeyRefused("key_blocks", blocks, "exactly one, -----BEGIN PGP PUBLIC KEY BLOCK-----", EXPORT)
    try:
        found = list(packets.packets(packets.dearmored(armor)))
    except packets.Malformed as problem:
        raise KeyRefused("key_unreadable", str(problem), "a complete public key", EXPORT) from None
    if any(packet.tag in (packets.SECRET_KEY, packets.SECRET_SUBKEY) for packet in found):
        raise _secret()
    primaries = [packet for packet in found if packet.tag == packets.PUBLIC_KEY]
    if len(primaries) != 1 or found[0] is not primaries[0]:
        raise KeyRefused("key_several", f"{len(primaries)} keys in the block", "exactly one", EXPORT)
    primary = primaries[0]
    if primary.version != 4 or len(primary.body) < 8:  # noqa: PLR2004  # the version that all clients read
        raise KeyRefused("key_version", f"a key of version {primary.version}", "one of version 4", ANOTHER)
    algorithm, bits = primary.body[5], int.from_bytes(primary.body[6:8])
    if algorithm in UNREADABLE:
        raise KeyRefused("key_algorithm", UNREADABLE[algorithm], EXPECTED_KEY, ANOTHER)
    if algorithm == int(RSA) and not MIN_RSA_BITS <= bits <= MAX_RSA_BITS:
        raise KeyRefused("key_weak", f"an RSA key of {bits} bits", f"{MIN_RSA_BITS} to {MAX_RSA_BITS}", ANOTHER)


def _check_state(key: dict[str, Any]) -> None:
    if key["trust"] == "r":
        raise KeyRefused("key_revoked", "a key that its owner has revoked", "an active key", ANOTHER)
    if key["trust"] == "e":
        raise KeyRefused(
            "key_expired",
            f"a key that expired on {_when(key['expires']):%Y-%m-%d}",
            "a key that has not expired",
            "Extend it (gpg --quick-set-expire FINGERPRINT 2y) and export it again, or create another.",
        )
    signers = _signers(key)
    if not signers:
        raise KeyRefused(
            "key_cannot_sign", "no valid key or subkey that may sign", "at least one", f"Add one. {ANOTHER}"
        )
    for part in (key, signers[0]):
        if not is_strong(part["algo"], int(part["length"]), part["curve"]):
            raise KeyRefused("key_algorithm", f"a key by {_algorithm(part)}", EXPECTED_KEY, ANOTHER)


def _signers(key: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the primary key and subkeys that are valid and may sign, strong ones first."""
    every = [key, *key.get("subkey_info", {}).values()]
    # Lower-case letters are a key's own capabilities; upper-case ones on the primary are those of all together.
    usable = [part for part in every if "s" in part["cap"] and part["trust"] not in ("r", "e", "i", "d", "n")]
    return sorted(usable, key=lambda part: not is_strong(part["algo"], int(part["length"]), part["curve"]))


def _algorithm(key: dict[str, Any]) -> str:
    return f"rsa{key['length']}" if key["algo"] == RSA else str(key["curve"] or f"algorithm {key['algo']}")[:20]


def _when(seconds: str) -> datetime | None:
    return datetime.fromtimestamp(int(seconds), UTC) if seconds else None


def _secret() -> KeyRefused:
    return KeyRefused(
        "key_secret",
        "a private key",
        "the public key alone",
        "This private key has been exposed and must be revoked now: gpg --gen-revoke FINGERPRINT. Then create "
        "another, and export only its public half: gpg --armor --export FINGERPRINT",
    )
