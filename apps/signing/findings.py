"""The findings of gpg about one signature and one key. verifying.py and foreign.py judge them."""

from dataclasses import dataclass
from typing import Any

from apps.signing import gnupg_home, packets
from apps.signing.armor import is_strong
from apps.signing.gpg import Gpg


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
    with gnupg_home.home() as home:
        mark = home / "signature"
        mark.write_bytes(signature)
        gpg = Gpg(home)
        gpg.import_keys(armor)
        said = gpg.verify_data(str(mark), data)
        signer = str(said.fingerprint or "")
        listed: list[dict[str, Any]] = gpg.list_keys()
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
            uid=(
                uids[0].encode("latin-1", "replace").decode("utf-8", "replace").replace("\0", "")[:200] if uids else ""
            ),
        )


def is_by(armor: str, issuer: str) -> bool:
    """Return whether the issuer is the key or one of its subkeys; any key without an issuer, which gpg then decides."""
    found = packets.packets(packets.dearmored(armor))
    own = [packets.fingerprint(one) for one in found if one.tag in (packets.PUBLIC_KEY, packets.PUBLIC_SUBKEY)]
    return any(fingerprint.endswith(issuer) for fingerprint in own)
