"""Writes addresses into a copy, so that a client never sees a version without its bytes, whatever dies when.

A row says before a write what the files of an address will be, and what may be there until it has ended: so the next
writer repairs what was cut off by doing it again. One process writes at a time. Its number, the fence, is compared
before each batch; one that slept meanwhile finds a higher one, and stops.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from apps.audit import generation
from apps.blobs.store import Damaged, DamagedInStorage, Missing
from apps.contrib.copy.models import Copy, Root, Written, packed, unpacked
from apps.contrib.copy.tree import layout, manifest
from apps.contrib.copy.tree.documents import Content, Rendered, stored_as
from apps.contrib.copy.tree.folders import Busy, Folder
from apps.contrib.copy.tree.layout import Address, Kind, Rank
from apps.contrib.copy.writing import targets
from apps.contrib.copy.writing.targets import File, Target
from apps.jobs import queue
from apps.lib.addresses import canonical

# Longer than a batch takes. A writer that dies in a bucket keeps others out for so long; in a folder a lock says more.
LEASE = timedelta(seconds=60)
# An address whose bytes cannot be read is tried again after that.
RETRY = timedelta(minutes=5)
SIGN = "sign-static-copy"
# Rows that have to be read at once.
AT_ONCE = 200

log = structlog.get_logger("larder.copy")


class FenceLost(Busy):
    """Another writer has taken over: this one writes nothing more."""


@dataclass(slots=True)
class Change:
    """The work on one address."""

    row: Written
    rendered: Rendered
    was: dict[str, str]  # by path, from before
    files: dict[str, Content]  # by path, from now on
    digests: dict[str, str]  # of those

    @property
    def puts(self) -> list[File]:
        return [(path, file) for path, file in self.files.items() if self.was.get(path) != self.digests[path]]

    @property
    def removals(self) -> list[str]:
        return [path for path in self.was if path not in self.files]


class Writer:
    """Use `opened`."""

    def __init__(self, copy: Copy, target: Target) -> None:
        self.copy, self.target = copy, target
        self.broken: dict[str, str] = {}  # addresses that could not be written, with the reason

    def write(self, batch: Sequence[Rendered], *, distrust: bool = False) -> int:
        """Write what differs from the last time; return how many addresses did. Raises StorageUnavailable, FenceLost.

        `distrust`: write every file again, whatever the rows say. An address whose bytes cannot be read is left as it
        was, and does not keep the others back.
        """
        changes = self._changes(batch, distrust=distrust)
        try:
            self._carry_out(changes)
        except (Damaged, DamagedInStorage, Missing) as error:
            if len(batch) > 1:
                return sum(self.write([one], distrust=distrust) for one in batch)
            self._give_up(changes, str(error))
            return 0
        return len(changes)

    def _changes(self, batch: Sequence[Rendered], *, distrust: bool) -> list[Change]:
        rows = {row.address: row for row in self.copy.addresses.filter(address__in=[str(one.address) for one in batch])}
        changes = []
        for rendered in batch:
            row = rows.get(str(rendered.address)) or _new_row(self.copy, rendered.address)
            stored = {place: stored_as(content) for place, content in rendered.files.items()}
            files = {
                layout.path_of(place, is_public=rendered.is_public): file for place, file in rendered.files.items()
            }
            digests = {layout.path_of(place, is_public=rendered.is_public): one.digest for place, one in stored.items()}
            is_same = not row.was and row.paths == digests and not distrust
            if is_same and row.due_at == rendered.due_at:
                continue
            if is_same:
                Written.objects.filter(pk=row.pk).update(due_at=rendered.due_at)
                continue
            was = _known(row)
            row.files = packed({place: [one.digest, one.size] for place, one in stored.items()})
            row.was, row.is_public = packed(was or {"": ""}), rendered.is_public
            if stored:
                listed = manifest.list_document(rendered.address, stored, is_public=rendered.is_public)
                files[rendered.address.list_path] = listed
                digests[rendered.address.list_path] = stored_as(listed).digest
            if distrust:
                was = dict.fromkeys(was, "")
            changes.append(Change(row, rendered, was, files, digests))
        return changes

    def _carry_out(self, changes: Sequence[Change]) -> None:
        if not changes:
            return
        with self._fenced():
            _save([change.row for change in changes])
        # What becomes private goes first: a web server looks into `public/` before.
        hidden = [path for change in changes for path in change.removals if not change.row.is_public]
        self._remove([path for path in hidden if path.startswith("public/")])
        puts = [file for change in changes for file in change.puts]
        for rank in Rank:
            self._put([file for file in puts if _rank(file[0]) == rank])
        self._put([file for file in puts if file[0].startswith("manifest/")])
        self._remove([path for change in changes for path in change.removals])
        self.target.put([])
        with self._fenced():
            for change in changes:
                change.row.was, change.row.due_at, change.row.is_sealed = b"", change.rendered.due_at, False
                change.row.digest = change.digests.get(change.rendered.address.list_path, "")
                self.broken.pop(change.row.address, None)
            _save([change.row for change in changes])

    def _put(self, files: list[File]) -> None:
        for start in range(0, len(files), self.target.at_once):
            self.advance()
            self.target.put(files[start : start + self.target.at_once], is_last=False)

    def _remove(self, paths: list[str]) -> None:
        for rank in reversed(Rank):
            some = [path for path in paths if _rank(path) == rank]
            for start in range(0, len(some), self.target.at_once):
                self.advance()
                self.target.remove(some[start : start + self.target.at_once], is_last=False)
        if lists := [path for path in paths if path.startswith("manifest/")]:
            self.target.remove(lists, is_last=False)

    def _give_up(self, changes: Sequence[Change], reason: str) -> None:
        for change in changes:
            address = str(change.rendered.address)
            log.error("address_not_copied", address=address, error=reason)
            self.broken[address] = reason
            self.copy.addresses.filter(address=address).update(due_at=timezone.now() + RETRY)

    # --- The fence -------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Renew the lease. Raises FenceLost."""
        mine = Copy.objects.filter(pk=self.copy.pk, fence=self.copy.fence)
        if not mine.update(lease_until=timezone.now() + LEASE):
            raise FenceLost

    @contextmanager
    def _fenced(self) -> Iterator[None]:
        """A transaction in which no other writer can begin."""
        with transaction.atomic():
            self.advance()
            yield

    # --- The manifest ----------------------------------------------------------------------------------------------

    def seal(self, *, number: int) -> bool:
        """Write the shards that have changed, and ask for a signature of the root; return False where nothing has.

        `number`: the generation that the copy has.
        """
        unsealed = list(self.copy.addresses.filter(is_sealed=False).values_list("pk", "shard"))
        root, _ = Root.objects.get_or_create(copy=self.copy)
        if not unsealed and root.sequence:
            return False
        shards = manifest.shards_of(bytes(root.payload))
        files: list[File] = []
        for shard in sorted({shard for _, shard in unsealed}):
            rows = self.copy.addresses.filter(shard=shard).exclude(digest="").order_by("address")
            document = manifest.shard_document(dict(rows.values_list("address", "digest")))
            shards[shard] = stored_as(document).digest
            files.append((layout.shard_path(shard), document))
        self._put(files)
        self.target.put([])
        now = timezone.now()
        # A time, so that it grows after a database was restored too.
        sequence = max(root.sequence + 1, int(now.timestamp()))
        with self._fenced():
            Root.objects.filter(pk=root.pk).update(
                sequence=sequence,
                payload=manifest.root_document(sequence, number, shards, now=now),
                envelope=b"",
                put_at=None,
            )
            for start in range(0, len(unsealed), AT_ONCE):
                numbers = [pk for pk, _ in unsealed[start : start + AT_ONCE]]
                Written.objects.filter(pk__in=numbers).update(is_sealed=True)
            self.copy.addresses.filter(is_sealed=True, digest="", was=b"").delete()
            self.ask_for_signature(root.pk)
        return True

    def ask_for_signature(self, root: int) -> None:
        queue.enqueue_once(SIGN, target=root, created_by_id=None)

    def put_root(self) -> bool:
        """Write the signed root once it is there; return False while it is not."""
        root = Root.objects.filter(copy=self.copy).exclude(envelope=b"").first()
        if root is None:
            return False
        if root.put_at is None:
            self._put([(layout.MANIFEST, bytes(root.envelope))])
            self.target.put([])
            Root.objects.filter(pk=root.pk, sequence=root.sequence).update(put_at=timezone.now())
        return True


@contextmanager
def opened(url: str) -> Iterator[Writer]:
    """Become the one writer of a copy. Raises Busy, StorageUnavailable."""
    copy, _ = Copy.objects.get_or_create(url=url)
    target = targets.at(url)
    with target.held():
        now = timezone.now()
        free = Copy.objects.filter(Q(lease_until=None) | Q(lease_until__lt=now), pk=copy.pk)
        if isinstance(target, Folder):
            free = Copy.objects.filter(pk=copy.pk)  # the lock says that no one else writes
        if not free.update(fence=F("fence") + 1, lease_until=now + LEASE):
            raise Busy
        copy.refresh_from_db()
        writer = Writer(copy, target)
        try:
            yield writer
        finally:
            Copy.objects.filter(pk=copy.pk, fence=copy.fence).update(lease_until=None)


def current_generation() -> int:
    return generation.number_of(generation.ANYTHING)


def _new_row(copy: Copy, address: Address) -> Written:
    is_ours = address.kind in (Kind.MODULE, Kind.PROVIDER)
    namespace = canonical(address.name.partition("/")[0]) if is_ours else ""
    return Written(copy=copy, address=str(address), namespace=namespace, shard=address.shard)


def _known(row: Written) -> dict[str, str]:
    """Return what may be there: the SHA-256 of each path, nothing where it is not certain."""
    listed = Address.parse(row.address).list_path
    if not row.was:
        return row.paths | ({listed: row.digest} if row.digest else {})
    before: dict[str, str] = unpacked(row.was)
    before.pop("", None)
    meant = row.paths | {listed: ""}  # those of the write that was cut off
    return {path: before[path] if before.get(path) == meant.get(path, "") else "" for path in before | meant}


def _rank(path: str) -> Rank | None:
    """None for a file of the manifest."""
    side, _, place = path.partition("/")
    return None if side == "manifest" else layout.rank_of(place)


def _save(rows: Sequence[Written]) -> None:
    for row in rows:
        row.pk = None  # the address says which row it is
    for start in range(0, len(rows), AT_ONCE):
        Written.objects.bulk_create(
            rows[start : start + AT_ONCE],
            update_conflicts=True,
            unique_fields=["copy", "address"],
            update_fields=["is_public", "files", "was", "digest", "is_sealed", "due_at"],
        )
