"""Verify a signature of another registry by the keys that this registry names, as leniently as clients do.

`verifying` is stricter with what is published here. Both ask gpg the same (`findings`). OpenTofu's rules, which these
follow: internal/getproviders/package_authentication.go, findSigningKey.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.signing import findings, packets
from apps.signing.findings import Finding

MAX_SIGNATURE_BYTES = 64 * 1024
MAX_ARMOR_CHARACTERS = 256 * 1024
MAX_KEYS = 32
BINARY_DOCUMENT, TEXT_DOCUMENT = 0, 1
# go-crypto reads no others. Its `openpgp.CheckDetachedSignature`, which clients call, takes SHA-1 and text mode too:
# only its v2 API refuses SHA-1. Whoever asks decides about these two, see `Signer.weakness`.
DIGESTS = ("SHA-224", "SHA-256", "SHA-384", "SHA-512")
WEAK_DIGEST = "SHA-1"


class NotSigned(Exception):
    """No key that was named made a valid signature. `is_foreign`: it is by a key that the registry does not name."""

    def __init__(self, found: str, *, is_foreign: bool = False, issuer: str = "") -> None:
        super().__init__(found)
        self.is_foreign, self.issuer = is_foreign, issuer


@dataclass(frozen=True, slots=True)
class Signer:
    """The key that made a signature. `note`: what a client would warn of, empty if nothing.

    `weakness`: what clients accept without a word although it proves less, such as "made with SHA-1"; empty if nothing.
    """

    fingerprint: str
    armor: str
    uid: str
    note: str
    weakness: str = ""


def verify(*, data: bytes, signature: bytes, armors: Sequence[str]) -> Signer:
    """Return the key among `armors` that signed the data. Raises NotSigned.

    A key or signature that has expired still counts, as it does for OpenTofu: a release does not become another one
    when its key ends. A revoked key never counts.
    """
    if len(armors) > MAX_KEYS:
        raise NotSigned(f"{len(armors)} keys, expected at most {MAX_KEYS}")
    marks = _signatures(signature)
    problems, weak = [], None
    for armor in armors:
        try:
            made_by_it = [(raw, weakness_of(head)) for raw, head in marks if _may_be_by(armor, head)]
        except packets.Malformed as problem:
            problems.append(f"a key that cannot be read: {problem}")
            continue
        for raw, weakness in made_by_it:
            found = findings.ask(armor, data, raw)
            fault = _problem(found)
            if fault:
                problems.append(fault)
                continue
            signer = Signer(found.primary, armor, found.uid, _note(found), weakness)
            if not weakness:
                return signer
            weak = weak or signer
    if weak is not None:
        return weak
    if problems:
        raise NotSigned(problems[-1], issuer=marks[0][1].issuer)
    issuer = marks[0][1].issuer
    raise NotSigned(
        f"a signature by the key {issuer or 'that it does not name'}, which the registry does not name",
        is_foreign=True,
        issuer=issuer,
    )


def fingerprint_of(armor: str) -> str:
    """Return that of the first key, with upper-case digits; "" for what cannot be read."""
    if len(armor) > MAX_ARMOR_CHARACTERS:
        return ""
    try:
        keys = [one for one in packets.packets(packets.dearmored(armor)) if one.tag == packets.PUBLIC_KEY]
    except packets.Malformed:
        return ""
    return packets.fingerprint(keys[0]) if keys else ""


def _signatures(signature: bytes) -> list[tuple[bytes, packets.SignatureHead]]:
    """Return each signature packet, whole and read. Raises NotSigned."""
    if not signature.strip():
        raise NotSigned("an empty signature")
    if len(signature) > MAX_SIGNATURE_BYTES:
        raise NotSigned(f"a signature of {len(signature):,} bytes, expected at most {MAX_SIGNATURE_BYTES:,}")
    if signature.lstrip().startswith(b"-----BEGIN PGP"):
        raise NotSigned("an armoured signature, which clients do not read")
    try:
        found = [packet for packet in packets.packets(signature) if packet.tag == packets.SIGNATURE]
        read = [(packets.written(packet), packets.signature_head(packet)) for packet in found]
    except packets.Malformed as problem:
        raise NotSigned(f"a file that is not a signature: {problem}") from None
    kinds = (BINARY_DOCUMENT, TEXT_DOCUMENT)
    good = [(raw, head) for raw, head in read if head.kind in kinds and head.digest in (*DIGESTS, WEAK_DIGEST)]
    if not good:
        named = ", ".join(sorted({head.digest or f"version {head.version}" for _, head in read})) or "none"
        raise NotSigned(f"no signature that clients read (found: {named}), expected one over {', '.join(DIGESTS)}")
    return good


def weakness_of(head: packets.SignatureHead) -> str:
    ways = ["made with SHA-1"] * (head.digest == WEAK_DIGEST) + ["in text mode"] * (head.kind == TEXT_DOCUMENT)
    return " and ".join(ways)


def weakness_in(signature: bytes) -> str:
    """Return the weakness of a file of verified signatures, empty if one of them has none or there is none."""
    if not signature:
        return ""
    found = [weakness_of(head) for _, head in _signatures(signature)]
    return found[0] if all(found) else ""


def _may_be_by(armor: str, head: packets.SignatureHead) -> bool:
    if len(armor) > MAX_ARMOR_CHARACTERS:
        raise packets.Malformed(f"{len(armor):,} characters, expected at most {MAX_ARMOR_CHARACTERS:,}")
    return findings.is_by(armor, head.issuer)


def _problem(found: Finding) -> str:
    """Return why this is no valid signature by this key; empty if it is one."""
    if not found.is_imported:
        return "a key that gpg does not import: damaged, or without a self-signed user id"
    if found.key_is_revoked:
        return f"a signature by {found.primary or 'a key'}, which was revoked"
    if not (found.is_valid or found.key_has_expired or found.is_expired) or not found.primary:
        return "a signature over other bytes, or a damaged one"
    return "" if found.is_strong else "a signature by a weak key"


def _note(found: Finding) -> str:
    if found.key_has_expired:
        return "Its key has expired."
    return "The signature has expired." if found.is_expired else ""
