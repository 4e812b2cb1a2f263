"""Reads a DSSE envelope around an in-toto statement: whose bytes it names, and which key it says has signed it.

https://github.com/secure-systems-lab/dsse/blob/v1.0.2/envelope.md and https://github.com/in-toto/attestation, spec v1.
Nothing here verifies a signature.
"""

import re
from dataclasses import dataclass
from typing import Any

from apps.lib.digests import is_sha256
from apps.lib.errors import Invalid
from apps.lib.formats import dsse, strict_json

ENVELOPE = dsse.MEDIA_TYPE
STATEMENTS = ("https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1")
MAX_SUBJECTS = 1024  # as GitHub's
MAX_SIGNATURES = 100
MAX_NAME = 200  # of what is stored and shown: a predicate type, a key id
_PAYLOAD_TYPE = re.compile(r"application/vnd\.in-toto(\.[a-z0-9.-]+)?\+json", re.ASCII)


class AttestationInvalid(Invalid):
    """The document is no attestation that Larder reads, or names other bytes."""


@dataclass(frozen=True, slots=True)
class Said:
    """The claims of an attestation: about which bytes (sha256, 64 hex digits, in its order), of which type, and who
    signed.

    Nothing of it is verified.
    """

    digests: tuple[str, ...]
    predicate_type: str = ""
    signed_by: str = ""


def parse(raw: bytes, what: str) -> dict[str, Any]:
    """One JSON object. Raises AttestationInvalid."""
    try:
        found = strict_json.loads(raw)
    except strict_json.Malformed as error:
        hint = "A .jsonl file has one bundle on each line: attach each of them." if b"\n{" in raw else ""
        raise AttestationInvalid(f"{what} {error}.", hint=hint) from None
    if not isinstance(found, dict):
        raise expected(f"{what} is {shown(found)}", "a JSON object")
    return found


def said_by(envelope: dict[str, Any]) -> Said:
    """Read an envelope. Raises AttestationInvalid."""
    payload_type = envelope.get("payloadType")
    if not isinstance(payload_type, str) or not _PAYLOAD_TYPE.fullmatch(payload_type):
        raise expected(f"payloadType is {shown(payload_type)}", dsse.IN_TOTO)
    keys = _keys_of(envelope.get("signatures"))
    payload = decoded(envelope.get("payload"), "payload")
    statement = parse(payload, "The payload")
    if statement.get("_type") not in STATEMENTS:
        raise expected(f"_type of the statement is {shown(statement.get('_type'))}", " or ".join(STATEMENTS))
    predicate_type = statement.get("predicateType")
    if (
        not isinstance(predicate_type, str)
        or not 0 < len(predicate_type) <= MAX_NAME
        or clean(predicate_type) != (predicate_type)
    ):
        raise expected(f"predicateType is {shown(predicate_type)}", f"an address of at most {MAX_NAME} characters")
    return Said(_digests_of(statement.get("subject")), predicate_type, ", ".join(f"key {key}" for key in keys))


def decoded(value: Any, where: str) -> bytes:
    """The bytes of a field in base64. Raises AttestationInvalid."""
    found = dsse.bytes_of(value)
    if found is None:
        raise expected(f"{where} is {shown(value)}", "bytes in base64")
    return found


def expected(found: str, wanted: str, *, hint: str = "") -> AttestationInvalid:
    return AttestationInvalid(f"{found}, expected {wanted}.", hint=hint)


def shown(value: Any) -> str:
    """Shorten a value for an error message."""
    return "missing" if value is None else repr(value)[:100]


def clean(text: str) -> str:
    """Return a name in the document without characters that a database or a terminal takes for something else."""
    return "".join(character for character in text if character.isprintable())[:MAX_NAME]


def _keys_of(signatures: Any) -> list[str]:
    """The ids of the keys that it says have signed it, each once; those without an id are left out."""
    if not isinstance(signatures, list) or not signatures:
        raise expected(f"signatures is {shown(signatures)}", "at least one signature")
    if len(signatures) > MAX_SIGNATURES:
        raise expected(f"signatures has {len(signatures):,} entries", f"at most {MAX_SIGNATURES}")
    keys = []
    for place, one in enumerate(signatures):
        if not isinstance(one, dict):
            raise expected(f"signatures[{place}] is {shown(one)}", "an object with sig")
        decoded(one.get("sig"), f"signatures[{place}].sig")
        key = one.get("keyid")
        if key is not None and not isinstance(key, str):
            raise expected(f"signatures[{place}].keyid is {shown(key)}", "text")
        keys += [clean(key)] if key and clean(key) else []
    return list(dict.fromkeys(keys))


def _digests_of(subjects: Any) -> tuple[str, ...]:
    if not isinstance(subjects, list) or not subjects:
        raise expected(f"subject of the statement is {shown(subjects)}", "at least one subject")
    if len(subjects) > MAX_SUBJECTS:
        raise expected(f"the statement has {len(subjects):,} subjects", f"at most {MAX_SUBJECTS:,}")
    found = []
    for place, one in enumerate(subjects):
        digests = one.get("digest") if isinstance(one, dict) else None
        if not isinstance(digests, dict):
            raise expected(f"subject[{place}] of the statement is {shown(one)}", "an object with digest")
        digest = digests.get("sha256")
        if digest is None:  # of a commit, for example
            continue
        if not isinstance(digest, str) or not is_sha256(digest.lower()):
            raise expected(f"the sha256 of subject[{place}] is {shown(digest)}", "64 hex digits")
        found.append(digest.lower())
    if not found:
        raise expected("no subject of the statement has a sha256", "the sha256 of what the release gives out")
    return tuple(dict.fromkeys(found))
