"""The front: repeats what a view answered to the same question under the same generation, and knows no rules (D16).

Runs on the event loop.
"""

import asyncio
import re
import time
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.conf import settings

from apps.audit import generation
from apps.http.ready import KEPT, LONGEST, Ready
from registry_site.front import oci
from registry_site.front.archives import Archive, Archives, kind_of
from registry_site.front.changes import Changes
from registry_site.front.sending import Send, send_entry
from registry_site.front.stale import Stale
from registry_site.front.table import (
    ARCHIVES,
    CREDENTIALS,
    READERS,
    AccessFields,
    Entry,
    Headers,
    Key,
    Question,
    Table,
    for_links,
    for_readers,
    may_tell,
    whole_of,
)
from registry_site.server.connections import can_send_files, client_of, connections

# Below these paths answers become ready, except for blobs.
_BECOMES_READY = re.compile(r"/(?:v1|api/v1|\.well-known)/|/v2/(?!.+/blobs/)")
_IS_LOOKED_FOR = re.compile(r"/(?:v1|v2|api/v1|\.well-known|archives)/")
# A request waits so long for the answer to an equal one before it asks Django itself.
PATIENCE = 2.0


class Front:
    def __init__(self, changes: Changes | None = None, archives: Archives | None = None) -> None:
        self.changes = changes or Changes()
        self.table = Table(self.changes, most_bytes=settings.READY_BYTES)
        self.archives = archives or Archives()
        self.stale = Stale(self.changes, self.table, self.archives)
        self.misses = 0
        self._asking: dict[Key, asyncio.Future[bool]] = {}
        self.changes.on_changes = self.stale.learn

    async def has_answered(self, scope: Any, question: Question, send: Send) -> bool:
        """Answer from the table if the answer is there and holds.

        If Django is being asked the same, wait for that answer: after a change one of many equal requests does the
        work. On False the caller asks Django, and calls `settle` when it has the answer or will never have one.
        """
        if self.changes.outage.since is not None and await self.stale.has_answered(question, send):
            return True
        until = question.at + PATIENCE
        is_looked_for = question.key in self.table or _IS_LOOKED_FOR.match(question.path)
        # Also where nothing is there: what Django answers under an old number ends with the next question.
        knows_all = bool(is_looked_for) and await self.changes.learn()
        while True:
            entry = self._find(question) if knows_all else None
            if entry is not None:
                await send_entry(question, entry, send)
                return True
            asking = self._asking.get(question.waited_for)
            if asking is None or not await _has_become_ready(asking, until - time.monotonic()):
                break
        self.misses += 1
        question.era, question.number = self.changes.era, self.changes.number
        archive = await self._archive(scope, question)
        if archive is not None:
            entry = self._keep_archive(question, archive)
            self.table.count(entry)
            if archive.file:
                connections.sends_file(client_of(scope), question.path)
            await send_entry(question, entry, send, file=archive.file)
            return True
        if _BECOMES_READY.match(question.path):
            self._ask(question)
        return False

    def _find(self, question: Question) -> Entry | None:
        """The answer, if it holds."""
        entry = self.table.find(question.key)
        if entry is None and question.key[CREDENTIALS] is not None:
            entry = self._held_for_reader(question)
        if entry is None and question.path.startswith(ARCHIVES):
            entry = self._held_for_link(question)
        if entry is not None:
            self.table.count(entry, is_hit=True)
        return entry

    def _held_for_reader(self, question: Question) -> Entry | None:
        """Return the answer to another reader of the namespace, if Django has answered these credentials there as well.

        Both hold now, so together they are as new as the newest change that this process knows.
        """
        document = self.table.find(for_readers(question.key))
        if document is None or not oci.is_covered(question):
            return None
        reader_key = ("reader", question.key[CREDENTIALS], document.readers)
        reader = self.table.find(reader_key)
        if reader is None:
            question.waited_for = reader_key  # of many documents one is asked for, and shows whether the others may be
            return None
        person, token = reader.access.person, reader.access.token
        entry = Entry(
            document.whole,
            {*document.scopes, *reader.scopes},
            self.changes.era,
            self.changes.number,
            min(document.until, reader.until),
            document.download and document.download._replace(user_id=person, token_id=token),
            replace(document.access, person=person, token=token),
        )
        self.stale.keep_joined(question, document, reader, entry)
        self.table.add(question.key, entry)
        return entry

    def _held_for_link(self, question: Question) -> Entry | None:
        """Return the answer to another link to the same bytes: private documents have new links every few minutes."""
        entry = self.table.find(for_links(question.key))
        asked = self.archives.asked(question) if entry is not None else None
        if entry is None or asked is None or asked.seconds is None:
            return None
        entry = replace(entry, until=min(entry.until, question.at + asked.seconds))
        self.table.add(question.key, entry)
        return entry

    async def _archive(self, scope: Any, question: Question) -> Archive | None:
        """The answer to a request for stored bytes; None where Django must answer."""
        asked = None if self.changes.outage.is_sure else self.archives.asked(question)
        stored = await self.archives.find(asked.wanted) if asked is not None else None
        if asked is None or stored is None:
            return None
        kind = kind_of(question, asked)
        if not self.archives.has_frame(kind):
            asking = self._asking.get(kind)
            if asking is None:
                question.waited_for = kind
                self._ask(question)
                return None
            await _has_become_ready(asking, PATIENCE)
        archive = self.archives.answer(question, asked, stored, can_send=can_send_files(scope))
        if archive is not None:
            self.archives.record_use(question, asked, stored)
        return archive

    def _keep_archive(self, question: Question, archive: Archive) -> Entry:
        """A small one that is whole answers equal requests from now on."""
        whole = whole_of(archive.status, archive.headers, archive.body)
        until = question.at + archive.seconds
        entry = Entry(whole, archive.scopes, question.era, question.number, until, None, archive.access)
        self.stale.keep_archive(question, archive, entry)
        if archive.status == HTTPStatus.OK and archive.may_stay and not archive.file:
            self.table.add(question.key, entry)
            key = question.key if archive.is_public else for_links(question.key)
            if not archive.is_public:
                # Whoever has another link to the bytes has a link: it is looked at.
                kept = question.at + KEPT if entry.kept else 0.0
                self.table.add(key, replace(entry, until=question.at + LONGEST, kept=kept))
        return entry

    def _ask(self, question: Question) -> None:
        """Let equal requests wait for this one's answer, unless they wait for another one's."""
        if question.waited_for not in self._asking:
            question.is_first = True
            self._asking[question.waited_for] = asyncio.get_running_loop().create_future()

    def settle(self, question: Question, *, is_ready: bool) -> None:
        """Wake the requests that wait for this one's answer. Safe to repeat."""
        if question.is_first:
            question.is_first = False
            self._asking.pop(question.waited_for).set_result(is_ready)

    def store(
        self,
        question: Question,
        ready: Ready | None,
        *,
        status: int,
        headers: Headers,
        body: bytes,
        access: AccessFields = AccessFields(),  # noqa: B008  # it cannot change
    ) -> bool:
        """Store Django's answer for equal requests; False if it must not or cannot be stored."""
        if ready is None:
            return self.archives.learn(question, status=status, headers=headers, access=access)
        is_personal = any(
            name == b"set-cookie" or (name == b"vary" and b"cookie" in value.lower()) for name, value in headers
        )
        if is_personal or ready.seconds <= 0:
            return False
        same = tuple((name, value) for name, value in headers if name != b"x-request-id")
        body = b"" if question.method == "HEAD" else body
        entry = Entry(
            whole_of(status, same, body),
            ready.scopes,
            question.era,
            question.number,
            question.at + ready.seconds,
            ready.download,
            access,
            kept=self.stale.kept_until(question, ready),
            visibility=ready.visibility,
        )
        key, credentials = question.key, question.key[CREDENTIALS]
        if credentials is not None:
            key = for_readers(key) if ready.readers else key
            entry.readers = ready.readers
            if not ready.readers:
                entry.kept = min(entry.kept, question.at + ready.credentials_for)
        if credentials == READERS and not ready.readers:
            return False
        self.table.add(key, entry)
        if key not in self.table:
            return False
        self.stale.keep_document(question, key, entry)
        if key != question.key:
            reader_key = ("reader", credentials, ready.readers)
            scopes = {generation.ACCESS, ready.readers}
            reader = replace(entry, whole=whole_of(0, (), b""), scopes=scopes, download=None, readers="")
            self.stale.keep_reader(question, entry, reader, ready)
            self.table.add(reader_key, reader)
        return True

    async def tell(self, method: str, path: str, status: int, *, was_away: bool = False) -> bool:
        """Hold back an answer that may tell of a change until each process knows the change, if answers are repeated
        while the database is away. False: the database went away first, so no client may be told.

        `was_away`: before Django was asked, so that a page without the database, as /status, tells of nothing.
        """
        if not self.stale.is_on:
            return True
        if was_away and self.changes.outage.is_sure and method in ("GET", "HEAD"):
            return True
        tells = status < HTTPStatus.INTERNAL_SERVER_ERROR and may_tell(method, path)
        return not tells or await self.changes.run_out()

    def figures(self) -> dict[str, int]:
        """The figures of this process, for /status."""
        return {"answers": len(self.table), "bytes": self.table.bytes, "hits": self.table.hits, "misses": self.misses}


async def _has_become_ready(asking: asyncio.Future[bool], seconds: float) -> bool:
    await asyncio.wait([asking], timeout=max(0.0, seconds))
    return asking.done() and asking.result()


front = Front()
