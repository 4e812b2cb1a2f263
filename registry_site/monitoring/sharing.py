"""The counts of all processes of this host, and of those that were here before.

Each process writes its counts to a file of the data folder every few seconds, and the process that is asked adds them
up. A file belongs to a place that one process holds by a POSIX lock; the next process of that place continues to count
from the file, so that sums never shrink. prometheus_client's own files for several processes are mapped into memory,
where a full disk ends the process (SIGBUS), and there is one for each process that ever ran.
"""

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Iterable
from datetime import timedelta
from multiprocessing.util import Finalize
from pathlib import Path

import structlog
from django.conf import settings
from prometheus_client import CollectorRegistry, Metric

from apps.lib.process import metrics
from apps.lib.process.periodic import Periodic

EVERY = timedelta(seconds=5)
MAX_PLACES = 1024

log = structlog.get_logger("larder.metrics")

# Name, type and help of a family; name and labels of a sample.
Family = tuple[str, str, str]
Sample = tuple[str, tuple[tuple[str, str], ...]]
Counts = dict[Family, dict[Sample, float]]


class Place:
    """This process's file in the folder. Make a new one after a fork: locks are not inherited."""

    def __init__(self, folder: Path, registry: CollectorRegistry = metrics.registry) -> None:
        self.folder = folder
        self._registry = registry
        self._saving = threading.Lock()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.number, self._lock = self._take()
        # A gauge is of the process that set it, a count goes on.
        self._before = {family: one for family, one in _read(self._file).items() if family[1] != "gauge"}

    @property
    def _file(self) -> Path:
        return self.folder / f"{self.number}.json"

    def _take(self) -> tuple[int, int]:
        for number in range(MAX_PLACES):
            # Never closed: closing any descriptor of a file gives up the process's locks on it.
            descriptor = os.open(self.folder / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
            else:
                return number, descriptor
        raise OSError(f"more than {MAX_PLACES} processes count in {self.folder}")

    def own(self) -> Counts:
        found = counts_of(self._registry)
        _add(found, self._before)
        return found

    def write(self) -> Counts:
        """Write what this process has counted; a full disk leaves the older file."""
        with self._saving:
            found = self.own()
            draft = self._file.with_suffix(".part")
            with contextlib.suppress(OSError):
                draft.write_text(json.dumps([[family, list(one.items())] for family, one in found.items()]))
                draft.replace(self._file)
        return found

    def total(self) -> Counts:
        """The sum over all places. It writes its own first, so the next process that is asked tells no less."""
        found = self.write()
        for path in self.folder.glob("*.json"):
            if path != self._file:
                others = _read(path)
                if not _is_taken(path.with_suffix(".lock")):
                    others = {family: one for family, one in others.items() if family[1] != "gauge"}
                _add(found, others)
        return found


def counts_of(registry: CollectorRegistry) -> Counts:
    return {
        (metric.name, metric.type, metric.documentation): {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for sample in metric.samples
            if not sample.name.endswith("_created")
        }
        for metric in registry.collect()
    }


def families_of(counts: Counts) -> Iterable[Metric]:
    for (name, kind, documentation), samples in counts.items():
        family = Metric(name, documentation, kind)
        for (sample, labels), value in samples.items():
            family.add_sample(sample, dict(labels), value)
        yield family


def _read(path: Path) -> Counts:
    try:
        return {
            (name, kind, documentation): {
                (sample, tuple((label, value) for label, value in labels)): float(number)
                for (sample, labels), number in samples
            }
            for (name, kind, documentation), samples in json.loads(path.read_text())
        }
    except (OSError, ValueError, TypeError):
        return {}


def _add(into: Counts, more: Counts) -> None:
    """Add by the name of a family: a file of a former version may describe it in other words.

    Of another type it is another thing, which cannot be added.
    """
    known = {family[0]: family for family in into}
    for family, samples in more.items():
        own = known.get(family[0], family)
        if own[1] != family[1]:
            continue
        sums = into.setdefault(own, {})
        for sample, value in samples.items():
            sums[sample] = sums.get(sample, 0.0) + value


def _is_taken(lock: Path) -> bool:
    with contextlib.suppress(OSError):
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
    return False


class Shared:
    """The place of this process, taken when it starts to count; without one it tells its own counts."""

    def __init__(self) -> None:
        self._place: Place | None = None
        self._pid = 0  # a fork has none

    def start(self, folder: Path) -> None:
        """Web processes and workers call it, commands and tests do not. Again in a fork."""
        if self._pid == os.getpid():
            return
        self._pid = os.getpid()
        try:
            self._place = Place(folder)
        except OSError as error:
            log.warning("metrics_not_shared", error=str(error))
            return
        Periodic("metrics", self._place.write, every=EVERY, rest=lambda: None).start()
        Finalize(None, self._place.write, exitpriority=10)

    def total(self) -> Counts:
        return self._place.total() if self._place is not None else counts_of(metrics.registry)


shared = Shared()


def start() -> None:
    """Count for this host from now on."""
    shared.start(settings.DATA_DIR / "metrics")
