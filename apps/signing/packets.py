"""Parse armour and packets of OpenPGP before gpg sees any byte. gpg judges what they mean."""

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

SIGNATURE, SECRET_KEY, PUBLIC_KEY, SECRET_SUBKEY, LITERAL, PUBLIC_SUBKEY = 2, 5, 6, 7, 11, 14
HASHES = {1: "MD5", 2: "SHA-1", 3: "RIPEMD-160", 8: "SHA-256", 9: "SHA-384", 10: "SHA-512", 11: "SHA-224"}

BEGIN = re.compile(r"^[ \t]*-----BEGIN PGP ([A-Z ]+)-----", re.MULTILINE)
_BLOCK = re.compile(
    r"^[ \t]*-----BEGIN PGP (?P<kind>[A-Z ]+)-----[ \t]*\n(?P<body>.*?)^[ \t]*-----END PGP (?P=kind)-----",
    re.MULTILINE | re.DOTALL,
)
_MADE_AT, _ISSUER, _ISSUER_FINGERPRINT = 2, 16, 33
_TIME_BYTES = 4
# The public part of a key by algorithm: an object id with one byte of length (o), numbers with their bits (n).
_PARTS = {1: "nn", 16: "nnn", 17: "nnnn", 18: "ono", 19: "on", 22: "on"}


class Malformed(ValueError):
    """Not OpenPGP data; the text says why."""


@dataclass(frozen=True, slots=True)
class Packet:
    tag: int
    body: bytes

    @property
    def version(self) -> int:
        """Return the version of a key or signature: its first byte."""
        return self.body[0] if self.body else 0


@dataclass(frozen=True, slots=True)
class SignatureHead:
    """A signature's claims about itself, unproven until gpg has verified it."""

    version: int
    kind: int
    algorithm: int
    digest: str
    issuer: str  # fingerprint or key id in upper-case hex
    bits: int  # of its first number: for RSA about as many as the key has
    made_at: int = 0  # seconds since 1970, the latest if there are several
    critical: tuple[int, ...] = ()  # kinds of hashed subpackets that no reader may ignore


class Subpacket(NamedTuple):
    kind: int
    body: bytes
    is_critical: bool


def dearmored(text: str) -> bytes:
    """Return the bytes of the only armour block in the text. Raises Malformed."""
    block = _BLOCK.search(text.replace("\r\n", "\n"))
    if block is None:
        raise Malformed("an armour block without its end")
    lines = [line.strip() for line in block["body"].split("\n")]
    # Headers (`Comment: …`) end at the first empty line; the line with = in front is a check value.
    body = lines[lines.index("") + 1 :] if "" in lines[:-1] else lines
    try:
        return base64.b64decode("".join(line for line in body if not line.startswith("=")), validate=True)
    except ValueError:  # binascii.Error is one, and so is what a letter outside ASCII raises
        raise Malformed("armour that is not base64") from None


def literal(data: bytes) -> bytes:
    """Return a packet of binary data without a name or a time (RFC 4880, section 5.9)."""
    body = b"b\0" + bytes(_TIME_BYTES) + data
    return bytes([0xC0 | LITERAL, 255]) + len(body).to_bytes(4) + body


def packets(data: bytes) -> Iterator[Packet]:
    """Yield each packet (RFC 4880, section 4.2). Raises Malformed."""
    at = 0
    while at < len(data):
        first = data[at]
        if not first & 0x80:
            raise Malformed(f"a byte {first:#04x} where a packet should begin")
        try:
            if first & 0x40:
                if 224 <= data[at + 1] < 255:  # noqa: PLR2004  # RFC 4880, 4.2.2.4
                    raise Malformed("a packet in parts")
                tag, (length, begin) = first & 0x3F, _length(data, at + 1)
            elif first & 0x03 == 3:  # noqa: PLR2004  # "indeterminate": up to the end of the file
                raise Malformed("a packet without a length")
            else:
                begin = at + 1 + (1 << (first & 0x03))
                tag, length = (first & 0x3C) >> 2, int.from_bytes(data[at + 1 : begin])
        except IndexError:
            raise Malformed("a truncated packet") from None
        end = begin + length
        if end > len(data):
            raise Malformed(f"a packet of {end - begin} bytes of which {len(data) - begin} are there")
        yield Packet(tag, data[begin:end])
        at = end


def written(packet: Packet) -> bytes:
    """Return the packet with a header of the new format (RFC 4880, section 4.2.2), with a length of five bytes."""
    return bytes([0xC0 | packet.tag, 0xFF]) + len(packet.body).to_bytes(4) + packet.body


def fingerprint(key: Packet) -> str:
    """Return the fingerprint of a key or subkey of version 4 (RFC 4880, section 12.2)."""
    framed = b"\x99" + len(key.body).to_bytes(2) + key.body
    return hashlib.sha1(framed, usedforsecurity=False).hexdigest().upper()


def is_protected(material: bytes) -> bool:
    """Return whether private keys, armoured or not, need a passphrase; False for unreadable data."""
    try:
        data = dearmored(material.decode()) if material.lstrip().startswith(b"-----BEGIN PGP") else material
        secrets = [packet.body for packet in packets(data) if packet.tag in (SECRET_KEY, SECRET_SUBKEY)]
    except (Malformed, UnicodeDecodeError):
        return False
    for body in secrets:
        at = 6
        for kind in _PARTS.get(body[5], ""):
            at += 1 + body[at] if kind == "o" else 2 + (int.from_bytes(body[at : at + 2]) + 7) // 8
        # The octet after the public part (RFC 4880, section 5.5.3): gpg protects by string-to-key usage 253 to 255; a
        # key without a passphrase has 0 there.
        if any(body[at : at + 1]):
            return True
    return False


def first_tag(data: bytes) -> int:
    """Return the kind of the first packet, even without a length (gpg omits it when it compresses)."""
    first = data[0]
    return first & 0x3F if first & 0x40 else (first & 0x3C) >> 2


def signature_head(packet: Packet) -> SignatureHead:
    """Read a signature packet of version 4 (RFC 4880, section 5.2.3)."""
    body = packet.body
    if packet.version != 4:  # noqa: PLR2004  # the version that all clients read
        return SignatureHead(packet.version, 0, 0, "", "", 0)
    try:
        hashed_end = 6 + int.from_bytes(body[4:6])
        loose_end = hashed_end + 2 + int.from_bytes(body[hashed_end : hashed_end + 2])
        hashed = list(_subpackets(body[6:hashed_end]))
        parts = [*hashed, *_subpackets(body[hashed_end + 2 : loose_end])]
        digest = HASHES.get(body[3], f"digest {body[3]}")
        bits = int.from_bytes(body[loose_end + 2 : loose_end + 4])
        critical = tuple(part.kind for part in hashed if part.is_critical)
        # The latest time: programs differ in which of several they use.
        moments = (part.body for part in hashed if part.kind == _MADE_AT)
        made_at = max((int.from_bytes(moment) for moment in moments if len(moment) == _TIME_BYTES), default=0)
        # The longest issuer. All must name one key, since programs differ in which they use.
        named = [part.body[1:] for part in parts if part.kind == _ISSUER_FINGERPRINT]
        named += [part.body for part in parts if part.kind == _ISSUER]
        longest = max(named, key=len, default=b"")
        if not all(longest.endswith(name) for name in named):
            raise Malformed("a signature that names several keys")
        return SignatureHead(4, body[1], body[2], digest, longest.hex().upper(), bits, made_at, critical)
    except IndexError:
        raise Malformed("a truncated signature packet") from None


def _length(data: bytes, at: int) -> tuple[int, int]:
    """The length in one, two or five bytes (RFC 4880, sections 4.2.2 and 5.2.3.1), and the place after it."""
    first = data[at]
    if first < 192:  # noqa: PLR2004
        return first, at + 1
    if first < 255:  # noqa: PLR2004
        return ((first - 192) << 8) + data[at + 1] + 192, at + 2
    return int.from_bytes(data[at + 1 : at + 5]), at + 5


def _subpackets(data: bytes) -> Iterator[Subpacket]:
    at = 0
    while at < len(data):
        length, begin = _length(data, at)
        yield Subpacket(data[begin] & 0x7F, data[begin + 1 : begin + length], bool(data[begin] & 0x80))
        at = begin + max(length, 1)
