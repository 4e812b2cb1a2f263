"""The ledger: one object in storage for each published version, created once; it outlives the database (D5)."""

import json

from apps.blobs import store
from apps.lib.errors import RegistryError
from apps.lib.versions import parse
from apps.releases.models import Release


class LedgerConflict(RegistryError):
    """The ledger knows this version with other bytes: the database has forgotten a publish, or somebody tampered."""

    code = "conflict"

    def __init__(self, release: Release, known: str) -> None:
        super().__init__(
            f"The ledger in storage says that {release} was published before, with sha256:{known}.",
            hint="Publish under another version number, and tell an operator: the database may have been restored.",
        )
        self.known = known


def key_of(release: Release) -> str:
    # By precedence: versions that differ in build metadata only are one version (D10).
    precedence = parse(release.version).precedence
    # In lower case: a name in other letters is the same name, also where a restored database has forgotten it.
    return f"ledger/{release.kind}/{release.address.lower()}/{precedence}.json"


def enter(release: Release, *, digest: str) -> None:
    """Write the version's entry, create only; the same entry again is success, another one raises LedgerConflict."""
    entry = {
        "digest": digest,
        "folder": release.folder,
        "uploaded_digest": release.uploaded_digest,
        "version": release.version,
    }
    text = json.dumps(entry, sort_keys=True).encode()
    key = key_of(release)
    if store.put_once(key, text):
        return
    found = store.get(key)
    known = json.loads(found) if found else {}
    # By what was uploaded: the same upload may be repacked to other bytes by a later Larder (D5).
    if (known.get("uploaded_digest"), known.get("folder", "")) != (release.uploaded_digest, release.folder):
        raise LedgerConflict(release, known.get("digest", ""))
