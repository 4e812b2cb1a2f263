"""The maker of an annotated tag, and whether a key of the namespace signed it. Only a signature that gpg verified
counts.

The object (git's Documentation/signature-format): headers, an empty line, the message, and at its end the signature,
which is over all bytes before it.
"""

import re
from dataclasses import dataclass

from apps.accounts.models import Namespace
from apps.signing import foreign, keys, packets
from apps.signing.models import SigningKey, State

MAX_TAG_BYTES = 256 * 1024
MAX_NAME_CHARACTERS = 200
NONE = "none"
_PGP = b"-----BEGIN PGP SIGNATURE-----"
_BEGINNINGS = (_PGP, b"-----BEGIN SSH SIGNATURE-----", b"-----BEGIN SIGNED MESSAGE-----")
_TAGGER = re.compile(rb"^tagger (?P<name>[^<\n]*)<[^>\n]*>", re.MULTILINE)
_PERSON = re.compile(rb"^(?P<as>tagger|author|committer) [^<\n]*<(?P<address>[^>\n]*)>", re.MULTILINE)
_FOREIGN = "by a key that is not registered"


@dataclass(frozen=True, slots=True)
class TagFacts:
    """`tagger` is a name without its address, or empty. `signature` is a phrase such as "none"."""

    tagger: str
    signature: str
    key: str = ""  # the fingerprint of the registered key that made it


def read(raw: bytes, namespace: Namespace) -> TagFacts:
    """Read an annotated tag's object; empty for a lightweight tag. Raises Unavailable without gpg."""
    if not raw:
        return TagFacts("", NONE)
    tagger = _TAGGER.search(raw.partition(b"\n\n")[0])
    name = tagger["name"].decode(errors="replace").strip() if tagger else ""
    shown = "".join(letter for letter in name if letter.isprintable())[:MAX_NAME_CHARACTERS]
    payload, signature = _split(raw)
    if not signature:
        return TagFacts(shown, NONE)
    if len(raw) > MAX_TAG_BYTES:
        return TagFacts(shown, "too large to be checked")
    if not signature.startswith(_PGP):
        return TagFacts(shown, "of a kind that Larder does not check (SSH or X.509)")
    return TagFacts(shown, *_verified(payload, signature, namespace))


def makers_of(tag: bytes, commit: bytes) -> set[str]:
    """Return the mail addresses of who made the tag. A lightweight tag names no one: its maker is the committer.

    What git writes there is what its user has set: it may be another's address, and it may be none.
    """
    headers = (tag or commit).partition(b"\n\n")[0]
    found = [one["address"] for one in _PERSON.finditer(headers) if (one["as"] == b"tagger") == bool(tag)]
    return {text for one in found if "@" in (text := one.decode(errors="replace").strip())}


def _split(raw: bytes) -> tuple[bytes, bytes]:
    """At the last line that begins a signature."""
    places = [raw.rfind(b"\n" + beginning) for beginning in _BEGINNINGS]
    place = max(places)
    return (raw[: place + 1], raw[place + 1 :]) if place >= 0 else (raw, b"")


def _verified(payload: bytes, armoured: bytes, namespace: Namespace) -> tuple[str, str]:
    registered = {key.armor: key for key in keys.namespace_keys(namespace).newest_first() if key.armor}
    try:
        signature = packets.dearmored(armoured.decode("ascii", errors="replace"))
        armors = list(registered)[: foreign.MAX_KEYS]
        signer = foreign.verify(data=payload, signature=signature, armors=armors)
    except packets.Malformed as problem:
        return f"unreadable: {problem}"[:300], ""
    except foreign.NotSigned as problem:
        if problem.is_foreign or not registered:
            return f"{_FOREIGN} ({problem.issuer})" if problem.issuer else _FOREIGN, ""
        return f"not valid: {problem}"[:300], ""
    return _words(registered[signer.armor], signer.note), signer.fingerprint


def _words(key: SigningKey, note: str) -> str:
    if key.state == State.REVOKED:
        return f"by key {key.key_id} of {key.namespace}, which was revoked"
    text = f"by key {key.key_id}, registered for {key.namespace}"
    if key.state == State.RETIRED:
        text += " and retired"
    return f"{text}. {note}" if note else text
