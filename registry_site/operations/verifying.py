"""Compare every published version with what is stored: the row, the bytes, the signature, the ledger."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

from apps.blobs import store
from apps.blobs.models import Blob, State
from apps.providers import lifecycle
from apps.releases.lifecycle import release_blobs, verification
from apps.releases.lifecycle.verification import Outcome
from apps.releases.models import Kind, Release
from apps.releases.models import State as ReleaseState
from apps.releases.publishing import ledger

BATCH_SIZE = 200


@dataclass(frozen=True, slots=True)
class Verdict:
    """`problems` is empty for a sound release."""

    release: str
    problems: list[str]


def verify(*, sample: int = 0) -> Iterator[Verdict]:
    """Yield a verdict on each published release, or on so many that are chosen at random. Raises StorageUnavailable."""
    numbers = list(Release.objects.filter(state=ReleaseState.PUBLISHED).order_by("pk").values_list("pk", flat=True))
    if sample and sample < len(numbers):
        numbers = sorted(random.SystemRandom().sample(numbers, sample))
    for start in range(0, len(numbers), BATCH_SIZE):
        rows = Release.objects.filter(pk__in=numbers[start : start + BATCH_SIZE]).select_related("namespace")
        for release in rows.order_by("pk"):
            yield Verdict(f"{release.kind} {release}", list(_problems_of(release)))


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
