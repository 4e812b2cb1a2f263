"""Counts the downloads that a web server answered from the static copy, from its log.

A line is JSON in the format `larder_copy` of deploy/nginx/static-copy.conf. As everywhere, a download is an answered
GET for the place of an archive. A log is known by its first line, which has the id of a request: so it can be read
while it grows, again after it was rotated, and from its compressed copy, and each line counts once.
"""

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.contrib.copy.models import CountedLog
from apps.lib.addresses import canonical
from apps.lib.errors import Conflict, Invalid
from apps.releases.catalogue import downloads
from apps.releases.catalogue.downloads import Tally
from apps.releases.models import Kind, Release

LINES = 5000  # in one transaction
MAX_LINE = 64 * 1024  # bytes; nginx's own limits are lower
_NAME = "[A-Za-z0-9._+~-]+"
_MODULE = re.compile(rf"/v1/modules/({_NAME})/({_NAME}/{_NAME})/({_NAME})/download")
_PROVIDER = re.compile(rf"/v1/providers/({_NAME})/({_NAME})/({_NAME})/download/{_NAME}/{_NAME}")
_MIRRORED = re.compile(rf"/v1/mirror/({_NAME})/({_NAME})/({_NAME})/({_NAME})\.json")


class Version(NamedTuple):
    kind: str
    namespace: str  # canonical
    name: str  # canonical
    version: str


@dataclass(slots=True)
class Counted:
    """The lines of a log by what became of them. `others`: not downloads. `unreadable`: in another format."""

    downloads: int = 0
    others: int = 0
    unknown: int = 0  # of versions that are not here
    unreadable: int = 0


def count(path: Path) -> Counted:
    """Count what was added to the log since the last time.

    Raises Invalid for a file that cannot be read, and Conflict if the same log is being counted by another process.
    """
    counted = Counted()
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as log:
            first = log.readline(MAX_LINE)
            if not first.endswith(b"\n"):
                return counted
            row, _ = CountedLog.objects.get_or_create(first_line=hashlib.sha256(first).hexdigest())
            log.seek(row.position)
            while lines := list(islice(_whole_lines(log), LINES)):
                _count(row, lines, counted)
    except OSError as error:
        raise Invalid(
            f"{path} cannot be read: {error.strerror or error}.", hint="Expected the log of nginx, or a .gz of it."
        ) from None
    return counted


def _whole_lines(log: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    """Leave a line that is still being written."""
    while (line := log.readline(MAX_LINE)).endswith(b"\n") or len(line) == MAX_LINE:
        yield line


def _count(row: CountedLog, lines: list[bytes], counted: Counted) -> None:
    tallies: dict[tuple[Version, date], Tally] = {}
    for line in lines:
        try:
            found = _download_in(line)
        except (ValueError, KeyError, TypeError):
            counted.unreadable += 1
            continue
        if found is None:
            counted.others += 1
            continue
        version, day, tally = found
        known = tallies.setdefault((version, day), Tally({}, {}))
        known.add(tally)
    end = row.position + sum(map(len, lines))
    with transaction.atomic():
        ids = _ids_of({version for version, _ in tallies})
        batch = {(ids[version], day): tally for (version, day), tally in tallies.items() if version in ids}
        if batch:
            counted.downloads += downloads.write(batch)
        counted.unknown += sum(tally.total for (version, _), tally in tallies.items() if version not in ids)
        rows = CountedLog.objects.filter(pk=row.pk, position=row.position)
        if not rows.update(position=end, counted_at=timezone.now()):
            raise Conflict("Another process is counting this log.", hint="Start one at a time.")
    row.position = end


def _download_in(line: bytes) -> tuple[Version, date, Tally] | None:
    """Raises ValueError, KeyError or TypeError for a line of another format."""
    entry = json.loads(line)
    version = _version_at(entry["path"])
    if version is None or (entry["method"], entry["status"]) != ("GET", "200"):
        return None
    reader = str(entry["reader"])
    person = int(reader) if reader.isascii() and reader.isdecimal() and len(reader) < 18 else None  # noqa: PLR2004
    day = datetime.fromisoformat(entry["at"]).astimezone(UTC).date()
    return version, day, Tally({downloads.client_of(entry["agent"]): 1}, {(person, None): 1})


def _version_at(path: str) -> Version | None:
    if found := _MODULE.fullmatch(path):
        return Version(Kind.MODULE, canonical(found[1]), canonical(found[2]), found[3])
    if found := _PROVIDER.fullmatch(path):
        return Version(Kind.PROVIDER, canonical(found[1]), canonical(found[2]), found[3])
    if (found := _MIRRORED.fullmatch(path)) and found[1] in settings.HOSTNAMES and found[4] != "index":
        return Version(Kind.PROVIDER, canonical(found[2]), canonical(found[3]), found[4])
    return None


def _ids_of(versions: set[Version]) -> dict[Version, int]:
    """Return the releases of those that are here, with one query for each kind and namespace."""
    found: dict[Version, int] = {}
    for kind, namespace in sorted({(one.kind, one.namespace) for one in versions}):
        numbers = {one.version for one in versions if (one.kind, one.namespace) == (kind, namespace)}
        rows = Release.objects.filter(kind=kind, namespace__canonical=namespace, version__in=numbers)
        for pk, name, number in rows.published().values_list("pk", "name", "version"):
            found[Version(kind, namespace, canonical(name), number)] = pk
    return found
