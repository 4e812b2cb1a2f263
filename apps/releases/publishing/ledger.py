"""The ledger: one object in storage per published version, created once, which outlives the database (D5)."""

import json

from apps.blobs import store
from apps.lib.errors import RegistryError
from apps.lib.versions import parse
from apps.releases.models import Release


class LedgerConflict(RegistryError):
    """The ledger has this version with other bytes: the database is older, or someone tampered."""

    code = "conflict"

    def __init__(self, release: Release, known: str) -> None:
        super().__init__(
            f"According to the ledger in storage, {release} was already published with sha256:{known}.",
            hint="Publish under another version number, and tell an operator: the database may have been restored.",
        )
        self.known = known


def key_of(release: Release) -> str:
    # Versions that differ only in build metadata are one version (D10).
    precedence = parse(release.version).precedence
    # In lower case: letter case does not make another name, even if a restored database has lost the first.
    return f"ledger/{release.kind}/{release.address.lower()}/{precedence}.json"


def enter(release: Release, *, digest: str) -> None:
    """Create the version's entry. The same entry again succeeds, another one raises LedgerConflict."""
    key = key_of(release)
    if store.put_once(key, text_of(release, digest=digest)):
        return
    found = store.get(key)
    if found is None:
        raise store.StorageUnavailable("Storage has a ledger entry that is not visible yet.")
    known = json.loads(found) if found else {}
    # Compare the upload: a later Larder may repack it to other bytes (D5).
    if (known.get("uploaded_digest"), known.get("folder", "")) != (release.uploaded_digest, release.folder):
        raise LedgerConflict(release, known.get("digest", ""))


def text_of(release: Release, *, digest: str) -> bytes:
    entry = {
        "digest": digest,
        "folder": release.folder,
        "uploaded_digest": release.uploaded_digest,
        "version": release.version,
    }
    return json.dumps(entry, sort_keys=True).encode()


def known_upload(release: Release) -> str | None:
    """Return the digest of what was uploaded when the version was published first; None if it never was."""
    found = store.get(key_of(release))
    return json.loads(found).get("uploaded_digest") if found else None
