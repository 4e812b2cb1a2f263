"""The findings of gpg about one signature and one key. verifying.py and foreign.py judge them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.signing import gnupg_home, packets
from apps.signing.armor import is_strong
from apps.signing.gpg import Gpg

# Of one process, which has a time limit.
MESSAGES = 500


@dataclass(frozen=True, slots=True)
class Finding:
    is_valid: bool
    is_expired: bool
    key_has_expired: bool
    key_is_revoked: bool
    ends_at: int
    primary: str  # the fingerprint of the primary key
    is_strong: bool
    is_imported: bool = True
    uid: str = ""


def ask(armor: str, data: bytes, signature: bytes) -> Finding:
    """Verify in a home with only this key: a bad key can spoil the verification of others (CVE-2025-30258)."""
    with _home_with(armor) as (home, gpg):
        return _alone(home, gpg, data, signature)


def ask_many(armor: str, signed: Sequence[tuple[bytes, bytes]]) -> list[Finding]:
    """Return what `ask` would, for each pair of data and a single detached signature packet by this key."""
    found: list[Finding] = []
    with _home_with(armor) as (home, gpg):
        listed = gpg.list_keys()
        while len(found) < len(signed):
            files = []
            for number, (data, signature) in enumerate(signed[len(found) :][:MESSAGES]):
                # What --sign writes, without compression: the signature is over the same bytes.
                files.append(home / f"message-{number}")
                files[-1].write_bytes(signature + packets.literal(data))
            good = gpg.verify_messages(files)
            found += [_finding(said, listed) for said in good]
            if len(good) < len(files):
                found.append(_alone(home, gpg, *signed[len(found)]))
    return found


@contextmanager
def _home_with(armor: str) -> Iterator[tuple[Path, Gpg]]:
    with gnupg_home.home() as home:
        gpg = Gpg(home)
        gpg.import_keys(armor)
        yield home, gpg


def _alone(home: Path, gpg: Gpg, data: bytes, signature: bytes) -> Finding:
    mark = home / "signature"
    mark.write_bytes(signature)
    said = gpg.verify_data(str(mark), data)
    return _finding(said, gpg.list_keys())


def _finding(said: Any, listed: list[dict[str, Any]]) -> Finding:
    signer = str(said.fingerprint or "")
    parts = [part for one in listed for part in (one, *one.get("subkey_info", {}).values())]
    made_by = [part for part in parts if signer.endswith(part["keyid"])]
    trusts = {part["trust"] for part in (*listed, *made_by)}
    statuses = {problem["status"] for problem in said.problems}
    uids = listed[0]["uids"] if listed else []
    # gpg's UTF-8, which the library has read as Latin-1.
    return Finding(
        is_valid=bool(said.valid) and said.returncode == 0 and not statuses,
        is_expired="signature expired" in statuses,
        key_has_expired=statuses == {"signing key has expired"},
        # Of a signature that has expired as well, gpg says only that.
        key_is_revoked="signing key was revoked" in statuses or "r" in trusts,
        ends_at=int(said.expire_timestamp or 0),
        primary=str(said.pubkey_fingerprint or ""),
        is_strong=any(is_strong(part["algo"], int(part["length"]), part["curve"]) for part in made_by[:1]),
        is_imported=bool(listed),
        uid=uids[0].encode("latin-1", "replace").decode("utf-8", "replace").replace("\0", "")[:200] if uids else "",
    )


def is_by(armor: str, issuer: str) -> bool:
    """Return whether the issuer is the key or one of its subkeys; any key without an issuer, which gpg then decides."""
    found = packets.packets(packets.dearmored(armor))
    own = [packets.fingerprint(one) for one in found if one.tag in (packets.PUBLIC_KEY, packets.PUBLIC_SUBKEY)]
    return any(fingerprint.endswith(issuer) for fingerprint in own)
