"""Download counts: collected in memory, written in bulk by a thread (D15).

A download is one answered request for the location of an archive: behind a cache Larder does not see what a client
then fetches, and how often.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from django.db import IntegrityError, connections, transaction
from django.db.models import F, Q
from django.utils import timezone

from apps import room
from apps.accounts.models import Membership, User
from apps.jobs import database_availability
from apps.lib.process.write_behind import NotWritten, WriteBehind
from apps.releases.models import DownloadCount, Fetch, Release, SearchDoc, TeamDownload

WRITE_EVERY = timedelta(seconds=5)
# Invented versions in User-Agents must not create endless rows: after these, the rest of a day is `other`.
MAX_CLIENTS = 50
OTHER = "other"
# Pairs of release and day that are collected while the database is away.
MAX_RELEASES = 10_000
BATCH_SIZE = 500  # rows in one statement
_CLIENT = re.compile(r"\b(OpenTofu|Terraform)/([0-9]{1,4}(?:\.[0-9]{1,4}){1,3})(?![0-9.])", re.ASCII)


# The numbers of an account and of its token. None: without credentials, or by a token that is not known.
Reader = tuple[int | None, int | None]


@dataclass(slots=True)
class Tally:
    """The downloads of one release on one day, by client, and by account and token."""

    clients: dict[str, int]
    readers: dict[Reader, int]

    @property
    def total(self) -> int:
        return sum(self.clients.values())

    @property
    def people(self) -> Counter[int]:
        """The downloads of those who were signed in, by whatever token."""
        found = Counter[int]()
        for (user_id, _), count in self.readers.items():
            if user_id is not None:
                found[user_id] += count
        return found

    def add(self, other: "Tally") -> "Tally":
        # For each download there is one: a Counter's `update` would take as long as the rest of a ready answer.
        for client, count in other.clients.items():
            name = _named(client, self.clients)
            self.clients[name] = self.clients.get(name, 0) + count
        for reader, count in other.readers.items():
            self.readers[reader] = self.readers.get(reader, 0) + count
        return self


Batch = dict[tuple[int, date], Tally]


class DownloadBuffer(WriteBehind[tuple[int, date], Tally]):
    """Downloads that this process has not written yet."""

    def __init__(self) -> None:
        super().__init__(
            "downloads", write=write, merge=Tally.add, every=WRITE_EVERY, most=MAX_RELEASES, rest=connections.close_all
        )

    def record_download(self, release_id: int, user_id: int | None, client: str, token_id: int | None = None) -> None:
        """Count one download on today's UTC date."""
        self.add((release_id, timezone.now().date()), Tally({client: 1}, {(user_id, token_id): 1}))


def client_of(user_agent: str) -> str:
    """Return `OpenTofu 1.12.6` from a User-Agent, without what follows the numbers; `other` for other clients."""
    found = _CLIENT.search(user_agent)
    return f"{found[1]} {found[2]}" if found else OTHER


def write(batch: Batch) -> int:
    """Add the batch to the rows, all of it or nothing (NotWritten); return the number of downloads.

    Locking the releases first, in one order, makes processes take turns, so that no two insert the same rows. (SQLite
    has one writer anyway.) Downloads of a deleted release are dropped.
    """
    try:
        with transaction.atomic():
            ids = {release_id for release_id, _ in batch}
            rows = Release.objects.filter(pk__in=ids).select_for_update(no_key=True).order_by("pk")
            releases = {release.pk: release for release in rows.only("kind", "namespace_id", "name", "size")}
            known = {key: tally for key, tally in batch.items() if key[0] in releases}
            if known:
                _write_counts(known)
                _write_fetches(known)
                _write_teams(known)
                _write_docs(known, releases)
                for also_write in room.all_of("download_writers"):
                    also_write(known, releases)
    except (*database_availability.AWAY, IntegrityError) as error:
        raise NotWritten(str(error)) from error
    return sum(tally.total for tally in known.values())


def _write_counts(batch: Batch) -> None:
    releases, days = {key[0] for key in batch}, {key[1] for key in batch}
    rows: defaultdict[tuple[int, date], dict[str, DownloadCount]] = defaultdict(dict)
    for row in DownloadCount.objects.filter(release__in=releases, day__in=days):
        rows[row.release_id, row.day][row.client] = row
    changed, new = [], []
    for (release_id, day), tally in batch.items():
        found = rows[release_id, day]
        within = Counter[str]()
        for client, count in tally.clients.items():
            within[_named(client, found.keys() | within.keys())] += count
        for client, count in within.items():
            if client in found:
                found[client].count = F("count") + count
                changed.append(found[client])
            else:
                new.append(DownloadCount(release_id=release_id, day=day, client=client, count=count))
    DownloadCount.objects.bulk_update(changed, ["count"], batch_size=BATCH_SIZE)
    DownloadCount.objects.bulk_create(new, batch_size=BATCH_SIZE)


def _named(client: str, known: Collection[str]) -> str:
    """Return `other` for a client that would be one too many."""
    return client if client in known or len(known) - (OTHER in known) < MAX_CLIENTS else OTHER


def _write_fetches(batch: Batch) -> None:
    added: dict[tuple[int, int], Fetch] = {}
    for (release_id, day), tally in sorted(batch.items(), key=lambda item: item[0]):
        for user_id, count in tally.people.items():
            fetch = added.setdefault((release_id, user_id), Fetch(release_id=release_id, user_id=user_id))
            fetch.last_on, fetch.count = day, fetch.count + count
    if not added:
        return
    there = set(User.objects.filter(pk__in={user_id for _, user_id in added}).values_list("pk", flat=True))
    releases = {release_id for release_id, _ in added}
    changed = []
    for row in Fetch.objects.filter(release__in=releases, user__in=there):
        more = added.pop((row.release_id, row.user_id), None)
        if more is not None:
            row.last_on, row.count = max(row.last_on, more.last_on), F("count") + more.count
            changed.append(row)
    Fetch.objects.bulk_update(changed, ["last_on", "count"], batch_size=BATCH_SIZE)
    Fetch.objects.bulk_create([row for row in added.values() if row.user_id in there], batch_size=BATCH_SIZE)


def _write_teams(batch: Batch) -> None:
    """A service account has one team, a person may have several or none."""
    people = {user_id for tally in batch.values() for user_id in tally.people}
    if not people:
        return
    teams: defaultdict[int, list[tuple[int, int | None]]] = defaultdict(list)
    memberships = Membership.objects.filter(user__in=people).values_list("user", "team", "user__is_service")
    for user_id, team_id, is_service in memberships:
        teams[user_id].append((team_id, user_id if is_service else None))
    added: Counter[tuple[int, date, int, int | None]] = Counter()
    for (release_id, day), tally in sorted(batch.items(), key=lambda item: item[0]):
        for user_id, count in tally.people.items():
            for team_id, account_id in teams[user_id]:
                added[release_id, day, team_id, account_id] += count
    if not added:
        return
    changed = []
    releases, days = {key[0] for key in added}, {key[1] for key in added}
    for row in TeamDownload.objects.filter(release__in=releases, day__in=days, team__in={key[2] for key in added}):
        more = added.pop((row.release_id, row.day, row.team_id, row.account_id), 0)
        if more:
            row.count = F("count") + more
            changed.append(row)
    TeamDownload.objects.bulk_update(changed, ["count"], batch_size=BATCH_SIZE)
    new = [
        TeamDownload(release_id=release, day=day, team_id=team, account_id=account, count=count)
        for (release, day, team, account), count in added.items()
    ]
    TeamDownload.objects.bulk_create(new, batch_size=BATCH_SIZE)


def _write_docs(batch: Batch, releases: Mapping[int, Release]) -> None:
    added: Counter[tuple[str, int, str]] = Counter()
    for (release_id, _), tally in batch.items():
        release = releases[release_id]
        added[release.kind, release.namespace_id, release.name] += tally.total
    named = Q(namespace__in={key[1] for key in added}, name__in={key[2] for key in added})
    docs = SearchDoc.objects.filter(named).select_for_update(no_key=True).order_by("pk")
    changed = []
    for doc in docs.only("kind", "namespace_id", "name", "downloads"):
        count = added[doc.kind, doc.namespace_id, doc.name]
        if count:
            doc.downloads = F("downloads") + count
            changed.append(doc)
    SearchDoc.objects.bulk_update(changed, ["downloads"], batch_size=BATCH_SIZE)


_buffer = DownloadBuffer()
record_download = _buffer.record_download
flush = _buffer.flush
start = _buffer.start
