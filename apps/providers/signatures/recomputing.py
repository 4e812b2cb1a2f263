"""SHA256SUMS of a release, computed again from its stored packages before the registry signs it (D12).

The signing worker takes no digest from the database on trust: it reads every package from storage, flat in memory, and
compares the result with what the checking worker recorded and with the ledger.
"""

import hashlib
import time
from collections.abc import Iterable

from apps.blobs import store
from apps.jobs.models import WORKING, Job
from apps.lib.archives.rules.outcome import Refusal
from apps.lib.errors import Conflict, Invalid
from apps.lib.formats import sums
from apps.lib.packages import sandboxed as packages
from apps.providers.drafting import drafts
from apps.providers.models import ProviderVersion
from apps.releases.models import Release, ReleaseFile, State
from apps.releases.publishing import ledger

# Signing a published version again is asked for by a job of this kind.
RESIGN_JOB = "resign-provider"
# A refusal is final, but storage may not show an object for seconds after it was stored, or break off a read.
PAUSES_SECONDS = (1.0, 3.0)

WHY = {
    "no_release": "the request names no release",
    "state": "the release is not waiting for a signature",
    "key": "the key belongs to another namespace",
    "key_ended": "the key expired, was retired or revoked, or its private key is not stored",
    "blob": "a stored package is missing or differs from the checked one",
    "sums": "the names or digests of the stored packages differ from the checked ones",
    "ledger": "the ledger has this version with other packages",
}


class Refused(Conflict):
    """The registry signs nothing for this request. `why` is a key of WHY."""

    code = "signing_refused"

    def __init__(self, why: str) -> None:
        self.why, self.found = why, WHY[why]
        super().__init__(
            f"The registry rejected the signing request: {self.found}.", hint="Ask an operator to read the audit log."
        )


def sums_of(release: Release) -> bytes:
    """Return the SHA256SUMS that the registry may sign for the release now.

    Reads every package once, and again where one seems to be missing or different. Raises Refused, and
    StorageUnavailable while storage is away.
    """
    for pause in PAUSES_SECONDS:
        try:
            return _sums_of(release)
        except Refused as refused:
            if refused.why != "blob":
                raise
        time.sleep(pause)
    return _sums_of(release)


def _sums_of(release: Release) -> bytes:
    try:
        if release.state == State.SIGNING:
            # The registry's own sums: one line for each package, and nothing else.
            files = [file for file, _ in drafts.files_of(release).packages]
            if any(drafts.role_of(release, file.name) != "package" for file in files):
                raise Refused("sums")
            data = sums.canonical(_hash_again(files))
            if hashlib.sha256(data).hexdigest() != release.digest:
                raise Refused("sums")
            _compare_with_ledger(release, data)
            return data
        resigning = Job.objects.filter(kind=RESIGN_JOB, target=release.pk, state__in=WORKING)
        if release.state == State.PUBLISHED and resigning.exists():
            return _sums_of_version(release)
    except (Refusal, Invalid):  # a name or line that no check has let pass
        raise Refused("sums") from None
    raise Refused("state")


def _sums_of_version(release: Release) -> bytes:
    """The published sums. Those of a publisher may list more than packages, which are not stored."""
    version = ProviderVersion.objects.get(release=release)
    stored = list(version.packages.order_by("filename"))
    found = _hash_again(ReleaseFile(name=one.filename, digest=one.digest) for one in stored)
    try:
        data = b"".join(store.read_unverified(version.sums_digest))
    except store.Missing:
        raise Refused("blob") from None
    if not hashlib.sha256(data).hexdigest() == version.sums_digest == release.digest:
        raise Refused("sums")
    # Each package has its line. Other lines are for files that no client installs.
    listed = sums.parse(data)
    others = listed.keys() - found.keys() - {drafts.manifest_name(release)}
    is_known = all(packages.is_companion(one, type=release.name, version=release.version) for one in others)
    if not is_known or any(listed.get(name) != digest for name, digest in found.items()):
        raise Refused("sums")
    _compare_with_ledger(release, sums.canonical(found))
    return data


def _hash_again(files: Iterable[ReleaseFile]) -> dict[str, str]:
    """Return digests by file name, from the bytes in storage."""
    found = {}
    for file in files:
        seen = hashlib.sha256()
        try:
            for step in store.read_unverified(file.digest):
                seen.update(step)
        except store.Missing:
            raise Refused("blob") from None
        if seen.hexdigest() != file.digest:
            raise Refused("blob")
        found[file.name] = file.digest
    return found


def _compare_with_ledger(release: Release, canonical: bytes) -> None:
    """A version number that was published once never gets a signature over other packages."""
    known = ledger.known_upload(release)
    if known is not None and known != hashlib.sha256(canonical).hexdigest():
        raise Refused("ledger")
