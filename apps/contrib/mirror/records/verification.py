"""For `manage.py verify`: every stored package, compared with its bytes and with the sums that were signed."""

import random
from collections.abc import Iterator

from apps.blobs.care import scrub
from apps.blobs.models import State
from apps.contrib.mirror.models import UpstreamPackage
from apps.contrib.mirror.records import storage
from apps.contrib.mirror.records.storage import UPSTREAM
from apps.contrib.mirror.stored_sums import stored
from apps.lib.digests import Tally
from apps.lib.formats.sums import read_as_clients_do
from apps.lib.process import parallel
from apps.lib.process.progress import Progress

BATCH_SIZE = 200


def verify(*, sample: int = 0) -> Iterator[tuple[str, list[str]]]:
    """Yield each stored package, or so many chosen at random, with what is wrong. Raises StorageUnavailable.

    Lost bytes are let go, so that the next client has them fetched again.
    """
    numbers = list(stored().order_by("pk").values_list("pk", flat=True))
    if sample and sample < len(numbers):
        numbers = sorted(random.SystemRandom().sample(numbers, sample))
    progress = Progress("verified mirrored packages", len(numbers))
    for start in range(0, len(numbers), BATCH_SIZE):
        rows = stored().filter(pk__in=numbers[start : start + BATCH_SIZE]).select_related("blob", UPSTREAM)
        packages = list(rows.order_by("pk"))
        read = parallel.each(scrub.read_again, [package.digest for package in packages])
        for package, found in progress.over(zip(packages, read, strict=True)):
            yield f"{package.version} {package.platform}", list(_problems_of(package, found))


def _problems_of(package: UpstreamPackage, found: Tally | None) -> Iterator[str]:
    line = read_as_clients_do(bytes(package.version.sums)).get(package.filename)
    if line != package.digest:
        yield f"the signed sums say sha256:{line}, its row sha256:{package.digest}"
    blob = package.blob
    if blob is None or (blob.digest, blob.size, blob.state) != (package.digest, package.size, State.READY):
        yield f"its row and that of its bytes differ: {blob}"
        return
    if found is not None and (found.hexdigest, found.size) == (package.digest, package.size):
        return
    what = "missing" if found is None else f"damaged: found sha256:{found.hexdigest}"
    after = "the next client has it fetched again" if storage.forget(package) else "restore it from a backup"
    yield f"{what}, expected sha256:{package.digest}; {after}"
