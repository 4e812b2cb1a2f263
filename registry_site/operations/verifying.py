"""Compare every published version with what is stored: the row, the bytes, the signature, the ledger. And back."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

from apps.blobs import store
from apps.blobs.care import copies
from apps.blobs.models import Blob, State
from apps.providers import lifecycle
from apps.releases.lifecycle import release_blobs, verification
from apps.releases.lifecycle.verification import Outcome
from apps.releases.models import Kind, Release
from apps.releases.models import State as ReleaseState
from apps.releases.publishing import ledger

BATCH_SIZE = 200


@dataclass(frozen=True, slots=True)
class CheckedRelease:
    """`problems` is empty for a sound release."""

    release: str
    problems: list[str]


def verify(*, sample: int = 0) -> Iterator[CheckedRelease]:
    """Check each published release, or so many that are chosen at random. Raises StorageUnavailable."""
    numbers = list(Release.objects.filter(state=ReleaseState.PUBLISHED).order_by("pk").values_list("pk", flat=True))
    if sample and sample < len(numbers):
        numbers = sorted(random.SystemRandom().sample(numbers, sample))
    for start in range(0, len(numbers), BATCH_SIZE):
        rows = Release.objects.filter(pk__in=numbers[start : start + BATCH_SIZE]).select_related("namespace")
        for release in rows.order_by("pk"):
            yield CheckedRelease(f"{release.kind} {release}", list(_problems_of(release)))


def _problems_of(release: Release) -> Iterator[str]:
    blobs = release_blobs.blobs_of(release)
    sizes = dict(Blob.objects.filter(digest__in=blobs, state=State.READY).values_list("digest", "size"))
    for digest, name in blobs.items():
        if digest not in sizes:
            yield f"{name}: no row for sha256:{digest}"
        elif (size := store.size_of(digest)) not in (None, sizes[digest]):
            yield f"{name}: {size} bytes are stored, expected {sizes[digest]}"
    findings = verification.findings_of(release)
    if release.kind == Kind.PROVIDER:
        findings += lifecycle.signature_of(release)
    for one in findings:
        if one.outcome != Outcome.SOUND:
            yield f"{one.name}: {one.outcome}: expected sha256:{one.digest}, found {one.found}"
    entry = store.get(ledger.key_of(release))
    if entry is None:
        yield "the ledger has no entry"
    elif json.loads(entry).get("digest") != release.digest:
        yield f"the ledger has sha256:{json.loads(entry).get('digest')}"


@dataclass(frozen=True, slots=True)
class Lost:
    """A version in the ledger that the database does not know. `digest` may have been repacked from the upload."""

    release: str
    digest: str
    uploaded_digest: str
    is_stored: bool  # whether storage has its bytes

    def __str__(self) -> str:
        bytes_ = "its bytes are in storage" if self.is_stored else "its bytes are not in storage"
        upload = "" if self.uploaded_digest == self.digest else f", uploaded as sha256:{self.uploaded_digest}"
        return f"{self.release}: sha256:{self.digest}{upload}; {bytes_}"


def lost() -> Iterator[Lost]:
    """Yield what storage has and the database lost. Raises StorageUnavailable.

    A purged version is not lost: its row stays.
    """
    rows = Release.objects.select_related("namespace").only("kind", "name", "version", "namespace__name")
    known = {ledger.key_of(release) for release in rows.iterator(chunk_size=BATCH_SIZE)}
    for key in copies.ledger_keys():
        if key in known or (text := store.get(key)) is None:
            continue
        entry = json.loads(text)
        _, kind, *address, _ = key.split("/")
        digest = entry["digest"]
        version = f"{kind} {'/'.join(address)} {entry['version']}"
        yield Lost(version, digest, entry["uploaded_digest"], is_stored=store.size_of(digest) is not None)
