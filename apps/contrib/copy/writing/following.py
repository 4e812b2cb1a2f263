"""Follows every change: what it touches becomes a row in its own transaction, and a job writes it into the copy.

The scope of a row is one of

- `address modules/acme/vpc/aws`: one address, from an event about a release
- `bytes acme/vpc/aws 1.2.0`: every address with a release that has the same bytes (a quarantine is about bytes)
- `mirror /at/17`: providers of other registries, by the scope of their answers
- `namespace acme`, `everything`: a sweep, in steps between which the others have their turn.

The row goes when the copy has it. So a job that is cut off is repeated, and a change that waits can be seen.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.audit import generation
from apps.blobs.store import StorageUnavailable
from apps.contrib.copy.models import Copy, Due, Root
from apps.contrib.copy.tree import documents
from apps.contrib.copy.tree.folders import Busy
from apps.contrib.copy.tree.layout import Address, Kind
from apps.contrib.copy.writing import acknowledging, writer
from apps.contrib.copy.writing.writer import Writer
from apps.http import mirrors
from apps.jobs import queue
from apps.jobs.claims import Claim, Outage
from apps.lib import addresses, versions
from apps.lib.errors import Invalid
from apps.lib.process.progress import Progress
from apps.releases.models import Release, ReleaseBlob

JOB = "follow-static-copy"
# A job that runs may have looked for the last time when a change comes: then there is a second one.
TARGETS = (0, 1)
SHARE = "static-copy"
EVERYTHING = "everything"
# A job waits so long for the next change before it ends, and runs no longer than that.
LINGER_SECONDS, LONGEST_SECONDS = 5.0, 60.0
LOOK_SECONDS, TIMED_SECONDS = 0.04, 1.0
# Roots of the manifest are apart by so much, or by the time that a signature takes.
SEAL_SECONDS, UNSIGNED_SECONDS = 0.5, 20.0
# Where no one looked for so long, changes may have been made without this room.
UNWATCHED = timedelta(minutes=2)
AT_ONCE = 100  # rows of changes
# Files of one step of a sweep. Changes wait for a step, and before the first sweep has ended no one reads the copy.
FILES, FIRST_FILES = 2_000, 10_000

log = structlog.get_logger("larder.copy")


# --- What a change touches -------------------------------------------------------------------------------------------


def listen(scopes: frozenset[str], subject: str) -> None:
    """Note what a change touches, in its transaction."""
    if not settings.STATIC_COPY.url:
        return
    rows = [Due(scope=scope) for scope in sorted(set(_scopes(scopes, subject)))]
    if not rows:
        return
    made = Due.objects.bulk_create(rows)
    if not any(scope.startswith("/at/") for scope in scopes):  # else it is a publication
        acknowledging.note(made)
    if "check" in settings.WORKER_QUEUES:  # else this is a worker that signs, which may add no job
        transaction.on_commit(ring, robust=True)  # inside, all changes would wait for one row


def ring() -> None:
    """Have a job look for changes."""
    for target in TARGETS:
        # With a turn of its own: behind the jobs of a busy namespace it would wait for all of them.
        if queue.enqueue_once(JOB, target=target, created_by_id=None, source="", share=SHARE):
            return


def _scopes(scopes: Iterable[str], subject: str) -> Iterator[str]:
    release = _release_of(subject)
    for scope in scopes:
        if scope == generation.EVERYTHING:
            yield f"bytes {subject}" if release else EVERYTHING
        elif scope.startswith("/at/"):
            yield f"address {release}" if release else f"mirror {scope}"
        elif scope and not scope.startswith("/"):
            yield f"address {release}" if release else f"namespace {scope}"


def _release_of(subject: str) -> Address | None:
    """Return the address in the subject of an event about a release, `acme/vpc/aws 1.2.0`; None for another one."""
    name, _, number = subject.partition(" ")
    try:
        versions.parse(number)
        found = addresses.parse(name)
    except Invalid:
        return None
    return documents.address_of(found)


# --- The job ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Sweep:
    """A pass over many addresses, in steps."""

    scope: str
    last: int  # of the rows that it settles
    left: Iterator[Address]


@dataclass(slots=True)
class Follower:
    """One run of the job, with what it has begun."""

    own: Writer
    sweep: Sweep | None = None
    is_settled: bool = False
    # By time.monotonic().
    sealed_at: float = float("-inf")
    asked_at: float = float("-inf")
    timed_at: float = float("-inf")

    def step(self) -> bool:
        """Write what is due; return False where nothing is."""
        number, rows = writer.current_generation(), list(Due.objects.order_by("pk")[:AT_ONCE])
        direct = [row for row in rows if row.scope.partition(" ")[0] in _DIRECT]
        if not direct and len(rows) == AT_ONCE:
            direct = list(_direct_rows()[:AT_ONCE])
        named = dict.fromkeys(address for row in direct for address in _addresses_of(self.own.copy, row.scope))
        named |= dict.fromkeys(self._due_by_time())
        if direct or named:
            self._write(named)
            Due.objects.filter(pk__in=[row.pk for row in direct]).delete()
        elif rows or self.sweep:
            self._go_on(rows)
        else:
            if not self.is_settled:
                self._is_current(number)
            return False
        self.is_settled = False
        return True

    def settle(self) -> bool:
        """Keep the manifest up with what is written; return whether it is."""
        if not self.is_settled:
            self.is_settled = self._sealed()
        return self.is_settled

    def _sealed(self) -> bool:
        root, now = Root.objects.filter(copy=self.own.copy).first(), time.monotonic()
        if root is not None and root.sequence and root.put_at is None and not self.own.put_root():
            if now > self.asked_at + SEAL_SECONDS:
                self.own.ask_for_signature(root.pk)
                self.asked_at = now
            if now < self.sealed_at + UNSIGNED_SECONDS:
                return False
        if now < self.sealed_at + SEAL_SECONDS:
            return False
        if not self.own.seal(number=self.own.copy.generation):
            return True
        self.sealed_at = self.asked_at = now
        return False

    def _due_by_time(self) -> list[Address]:
        """Return what changes without an event, once a second."""
        if time.monotonic() < self.timed_at + TIMED_SECONDS:
            return []
        self.timed_at = time.monotonic()
        due = self.own.copy.addresses.filter(due_at__lte=timezone.now()).order_by("due_at")
        return [Address.parse(text) for text in due.values_list("address", flat=True)[:AT_ONCE]]

    def _go_on(self, rows: list[Due]) -> None:
        """Take the next step of a sweep."""
        if self.sweep is None:
            same = [row.pk for row in rows if row.scope == rows[0].scope]
            self.sweep = Sweep(rows[0].scope, max(same), _swept(self.own.copy, rows[0].scope))
        batch = sweep_step(self.own, self.sweep.left)
        if batch:
            return
        Due.objects.filter(scope=self.sweep.scope, pk__lte=self.sweep.last).delete()
        if self.sweep.scope == EVERYTHING:
            Copy.objects.filter(pk=self.own.copy.pk, whole_at=None).update(whole_at=timezone.now())
        self.sweep = None

    def _write(self, named: Iterable[Address]) -> None:
        now = timezone.now()
        self.own.write([documents.render(address, now=now) for address in named])

    def _is_current(self, number: int) -> None:
        self.own.copy.generation = number
        changes: dict[str, Any] = {"generation": number, "current_at": timezone.now()}
        if not self.own.copy.addresses.exclude(was=b"").exists():  # else an address was given up
            changes |= {"failure": "", "failing_since": None}
        Copy.objects.filter(pk=self.own.copy.pk).update(**changes)
        if self.own.broken:
            said = "; ".join(f"{address}: {reason}" for address, reason in sorted(self.own.broken.items())[:3])
            note_failure(self.own.copy.url, said)


_DIRECT = frozenset({"address", "bytes", "mirror"})


def run(claim: Claim) -> None:
    """Write what is due, and wait a little for what follows. Raises Outage while the copy's storage is away."""
    url = settings.STATIC_COPY.url
    if not url or claim.exhausted:
        return
    until = time.monotonic() + LONGEST_SECONDS
    try:
        with writer.opened(url) as own:
            _follow(Follower(own), until)
    except Busy:
        _wait_for_another(until)
    except StorageUnavailable as away:
        note_failure(url, str(away))
        raise Outage(str(away)) from away
    if Due.objects.exists():
        ring()


def _follow(follower: Follower, until: float) -> None:
    idle_since = time.monotonic()
    while time.monotonic() < until or follower.sweep is not None:  # which would begin anew
        has_written = follower.step()
        is_settled = follower.settle()
        if has_written:
            idle_since = time.monotonic()
        elif is_settled and time.monotonic() > idle_since + LINGER_SECONDS:
            return
        else:
            time.sleep(LOOK_SECONDS)


def _wait_for_another(until: float) -> None:
    """Another job writes: it takes up what this one was rung for, unless it ends just then."""
    while Due.objects.exists() and time.monotonic() < until:
        if Copy.objects.filter(url=settings.STATIC_COPY.url, lease_until=None).exists():
            return
        time.sleep(LOOK_SECONDS)


def sweep_step(own: Writer, left: Iterator[Address]) -> int:
    """Write the next addresses of a sweep; return how many they were."""
    batch: list[documents.Rendered] = []
    files, now = 0, timezone.now()
    for address in left:
        batch.append(documents.render(address, now=now))
        files += 1 + len(batch[-1].files)
        if files >= (FILES if own.copy.whole_at else FIRST_FILES):
            break
    own.write(batch)
    return len(batch)


def everything(copy: Copy) -> Iterator[Address]:
    """Yield what should be in the copy, and what is in it."""
    return _swept(copy, EVERYTHING)


def everything_counted(copy: Copy) -> Iterator[Address]:
    """Yield what `everything` does, and say how far the caller is."""
    total = sum(1 for _ in documents.addresses(""))
    return Progress("addresses of the copy", total).over(everything(copy))


def _swept(copy: Copy, scope: str) -> Iterator[Address]:
    """Yield each address once."""
    namespace, seen = scope.partition(" ")[2], set()
    for address in documents.addresses(namespace):
        seen.add(str(address))
        yield address
    written = copy.addresses.order_by("address")
    last = ""
    while found := list(
        (written.filter(namespace=namespace) if namespace else written).filter(address__gt=last)[:1000]
    ):
        last = found[-1].address
        yield from (Address.parse(row.address) for row in found if row.address not in seen)


def _direct_rows() -> QuerySet[Due]:
    rows = Due.objects.exclude(scope=EVERYTHING).exclude(scope__startswith="namespace ")
    return rows.order_by("pk")


def _addresses_of(copy: Copy, scope: str) -> Iterator[Address]:
    word, _, rest = scope.partition(" ")
    if word == "address":
        yield Address.parse(rest)
    elif word == "bytes":
        yield from _with_bytes_of(rest)
    else:
        found = mirrors.others.copied_providers() if mirrors.others is not None else ()
        written = copy.addresses.filter(address__startswith=f"{Kind.MIRROR}/").values_list("address", flat=True)
        for name in {*map(str, found), *(text.partition("/")[2] for text in written)}:
            if generation.published_at(name) == rest:
                yield Address(Kind.MIRROR, name)


def _with_bytes_of(subject: str) -> Iterator[Address]:
    """Yield the addresses of all releases with the bytes of this one."""
    name, _, number = subject.partition(" ")
    address = addresses.parse(name)
    named = documents.address_of(address)
    yield named
    rows = Release.objects.filter(
        kind=named.kind.removesuffix("s"),
        namespace__canonical=addresses.canonical(address.namespace),
        name=address.path_name,
        sort_key=versions.sort_key(number),
    )
    parts = ReleaseBlob.objects.filter(release__in=rows).values_list("digest", flat=True)
    digests = {*rows.values_list("digest", flat=True), *parts} - {""}
    columns = ("kind", "namespace__name", "name")
    whole = Release.objects.filter(digest__in=digests).values_list(*columns)
    others = ReleaseBlob.objects.filter(digest__in=digests).values_list(*(f"release__{one}" for one in columns))
    for kind, namespace, path_name in whole.union(others):
        yield documents.of_release(kind, namespace, path_name)


# --- What no event tells -------------------------------------------------------------------------------------------


def tick() -> None:
    """Begin a copy that is new or made in another way, and ring for what was lost. Called every few seconds."""
    url = settings.STATIC_COPY.url
    # Of one that is not followed now, nobody knows what it lacks.
    Copy.objects.exclude(url=url).filter(made_as__gt="").update(made_as="")
    if not url:
        Due.objects.all().delete()
        return
    copy, _ = Copy.objects.get_or_create(url=url)
    now = timezone.now()
    was_followed = copy.followed_at is not None and copy.followed_at > now - UNWATCHED
    if copy.made_as != made_as() or not was_followed:
        Due.objects.create(scope=EVERYTHING)
    Copy.objects.filter(pk=copy.pk).update(made_as=made_as(), followed_at=now)
    is_due = Due.objects.exists() or copy.addresses.filter(due_at__lte=timezone.now()).exists()
    if is_due or not Root.objects.filter(copy=copy, put_at__isnull=False).exists():
        ring()


def made_as() -> str:
    """Return the digest of all but rows that documents are made of."""
    said = [
        settings.VERSION,
        settings.PUBLIC_URL,
        sorted(settings.HOSTNAMES),
        settings.USE_REGISTRY_CREDENTIALS,
        settings.PROVIDER_PACKAGES,
    ]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def note_failure(url: str, text: str) -> None:
    """Keep why the copy is behind."""
    log.warning("static_copy_failed", error=text)
    rows = Copy.objects.filter(url=url)
    rows.update(failure=text[:500])
    rows.filter(failing_since=None).update(failing_since=timezone.now())


def behind() -> timedelta:
    """Return how far the copy is behind: the age of the oldest change that it lacks."""
    first = Due.objects.order_by("pk").values_list("created_at", flat=True).first()
    return timezone.now() - first if first else timedelta()
