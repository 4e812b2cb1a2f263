"""Compare every published version with what is stored: the row, the bytes, the signature, the ledger. And back."""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apps.blobs import store
from apps.blobs.care import copies, scrub
from apps.blobs.models import Blob, State
from apps.lib.digests import Tally
from apps.lib.process import parallel
from apps.lib.process.progress import Progress
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
    progress = Progress("verified versions", len(numbers))
    for start in range(0, len(numbers), BATCH_SIZE):
        rows = Release.objects.filter(pk__in=numbers[start : start + BATCH_SIZE]).select_related("namespace")
        yield from progress.over(_checked(list(rows.order_by("pk"))))


def _checked(releases: list[Release]) -> Iterator[CheckedRelease]:
    blobs = release_blobs.blobs_of_each(releases)
    digests = list({digest for some in blobs.values() for digest in some})
    sizes = dict(Blob.objects.filter(digest__in=digests, state=State.READY).values_list("digest", "size"))
    read = dict(zip(digests, parallel.each(scrub.read_again, digests), strict=True))
    entries = parallel.each(store.get, [ledger.key_of(release) for release in releases])
    signatures = lifecycle.signatures_of([release for release in releases if release.kind == Kind.PROVIDER])
    for release, entry in zip(releases, entries, strict=True):
        findings = [*verification.judge(blobs[release.pk], read), *signatures.get(release.pk, ())]
        problems = [
            *_problems_of_rows(blobs[release.pk], sizes, read),
            *(
                f"{one.name}: {one.outcome}: expected sha256:{one.digest}, found {one.found}"
                for one in findings
                if one.outcome != Outcome.SOUND
            ),
            *_problems_of_ledger(release, entry),
        ]
        yield CheckedRelease(f"{release.kind} {release}", problems)


def _problems_of_rows(blobs: dict[str, str], sizes: dict[str, int], read: Mapping[str, Tally | None]) -> Iterator[str]:
    for digest, name in blobs.items():
        found = read[digest]
        if digest not in sizes:
            yield f"{name}: no row for sha256:{digest}"
        elif found is not None and found.size != sizes[digest]:
            yield f"{name}: {found.size} bytes are stored, expected {sizes[digest]}"


def _problems_of_ledger(release: Release, entry: bytes | None) -> Iterator[str]:
    if entry is None:
        yield "the ledger has no entry"
    elif (known := json.loads(entry).get("digest")) != release.digest:
        yield f"the ledger has sha256:{known}"


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
