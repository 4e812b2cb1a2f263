"""The answers that are repeated while the database is away (LARDER_SERVE_STALE_SECONDS), and their readers; `outage.py`
says when.

An answer stays in the table after its end, as long as it is true, its links open and nothing has changed what it
depends on. Documents of a public namespace are repeated to everyone, those of an internal one to credentials that
Django has let read there, those of a private one to credentials that have been answered this very document. All other
answers are repeated to equal credentials, or to everyone if they were given to a request without any. Over OCI the API
token counts as the credentials, and who may have a manifest may have the blobs that it names.
"""

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.accounts.models import Visibility
from apps.audit import generation
from apps.http.ready import KEPT, Ready
from apps.protocol.last_public import last_public
from registry_site.front import oci
from registry_site.front.archives import Archive, Archives
from registry_site.front.changes import Changes
from registry_site.front.sending import Send, send_entry
from registry_site.front.table import (
    ARCHIVES,
    CREDENTIALS,
    Entry,
    Key,
    Question,
    Table,
    Whole,
    for_links,
    for_readers,
    of_anybody,
    whole_of,
    with_credentials,
    without_condition,
)

WARNING = (b"warning", b'110 - "Response is Stale"')
_IS_REPEATED = re.compile(r"/(?:v1|archives|\.well-known)/|/v2/.+/(?:manifests|tags|referrers)/")
_NOTHING = whole_of(0, (), b"")


class Stale:
    """On the event loop."""

    def __init__(self, changes: Changes, table: Table, archives: Archives) -> None:
        self.is_on = changes.outage.seconds > 0
        self._changes = changes
        self._table = table
        self._archives = archives
        # By route.
        self.answers: dict[str, int] = {}

    def learn(self, scopes: Collection[str]) -> None:
        """The view of archives repeats of its own accord: what it knows must be as new as what is known here."""
        last_public.end(scopes)
        if self.is_on and generation.EVERYTHING in scopes:
            self._archives.learn_blocked()

    def kept_until(self, question: Question, ready: Ready) -> float:
        """Return until when the answer is true, for all who may have it."""
        return question.at + min(ready.true_for, KEPT) if self.is_on else 0.0

    def keep_reader(self, question: Question, document: Entry, reader: Entry, ready: Ready) -> None:
        """Note that these credentials read the namespace, and in a private one that they have read this document."""
        if self.is_on:
            reader.kept = question.at + min(ready.credentials_for, KEPT)
            self._mark_reader(question, document, reader)

    def keep_joined(self, question: Question, document: Entry, reader: Entry, joined: Entry) -> None:
        """The front has answered these credentials from the two entries."""
        if self.is_on:
            joined.kept, joined.visibility = min(document.kept, reader.kept), document.visibility
            self._mark_reader(question, document, reader)

    def _mark_reader(self, question: Question, document: Entry, reader: Entry) -> None:
        who, key = oci.asked_as(question), for_readers(question.key)
        if who != question.key[CREDENTIALS]:
            self._mark(("reader", who, document.readers), reader)
        if document.visibility == Visibility.PRIVATE:
            for name in (key, *oci.blobs_of(key, document.whole)):
                self._mark(_seen(who, name), reader)

    def keep_document(self, question: Question, key: Key, entry: Entry) -> None:
        """Note as whom it was asked, and the blobs that it opens."""
        if not self.is_on or not question.path.startswith(oci.PREFIX):
            return
        if key[CREDENTIALS] == question.key[CREDENTIALS] != oci.asked_as(question):
            key = with_credentials(key, oci.asked_as(question))
            self._table.add(key, replace(entry, until=0.0))
        for name in oci.blobs_of(key, entry.whole):
            self._mark(name, entry)

    def keep_source_token(self, ready: Ready | None, at: float, known: tuple[int, int]) -> None:
        """The token service may have issued a token. `known`: the generation before, era and number."""
        if self.is_on and ready is not None and (source := ready.source_token) is not None:
            whole = whole_of(0, (), str(source.number).encode())
            entry = Entry(whole, ready.scopes, *known, 0.0, None, kept=at + min(ready.credentials_for, KEPT))
            for name in (source.digest, oci.token_named(source.number)):
                self._table.add(_key_of_token(name), entry)

    def keep_archive(self, question: Question, archive: Archive, entry: Entry) -> None:
        """Small ones are repeated themselves."""
        if self.is_on and archive.seconds > 0:
            entry.kept = question.at + (KEPT if archive.is_public else archive.seconds)

    async def has_answered(self, question: Question, send: Send) -> bool:
        """Repeat the last answer, if the database is away and it may be repeated."""
        entry = (self.find(question) or self._pong(question)) if await self._changes.has_outage() else None
        if entry is None:
            return False
        self.count(entry)
        await send_entry(question, entry, send)
        return True

    async def token_for(self, environ: Mapping[str, Any]) -> Whole | None:
        """Return the token service's answer while the database is away: an anonymous one, or one for credentials that
        it has answered before.
        """
        asked = oci.token_request_of(environ) if await self._changes.has_outage() else None
        if asked is None:
            return None
        known = self._table.find_kept(_key_of_token(asked.digest)) if asked.digest else None
        if asked.digest and known is None:
            return None
        entry = oci.token_for(int(known.whole.body) if known else None, asked.scopes)
        self.count(entry)
        return entry.whole

    def count(self, entry: Entry) -> None:
        self._table.count(entry)
        self.answers[entry.access.route] = self.answers.get(entry.access.route, 0) + 1

    def figures(self) -> dict[str, Any]:
        """For /status: since when and until when this process repeats answers, and how many; empty if it does not.

        `is_elsewhere` alone: it does not, because only this host has lost the database.
        """
        if self._changes.outage.is_alone:
            return {"is_elsewhere": True}
        if not self._changes.outage.lasts():
            return {}
        outage, now = self._changes.outage, timezone.now()
        since = now - timedelta(seconds=time.monotonic() - (outage.since or 0.0))
        return {
            "since": since,
            "until": since + timedelta(seconds=outage.seconds),
            "answers": sum(self.answers.values()),
        }

    def find(self, question: Question) -> Entry | None:
        """The last answer, where it may be repeated. HEAD has that of GET, and nothing depends on a condition."""
        if not oci.is_covered(question):
            return oci.challenge(question)
        key = without_condition(with_credentials(question.key, oci.asked_as(question)))
        if digest := oci.digest_asked(question.path):
            if self._document(oci.of_blob(key, question.path)) is not None:
                question.opened_blob = digest
                return None
        elif not _IS_REPEATED.match(question.path):
            return None
        if question.path.startswith(ARCHIVES):
            return self._archive(question, key)
        for method in dict.fromkeys((question.method, "GET")):
            entry = self._document(without_condition(key, method=method))
            if entry is not None:
                return self._as_stale(question, entry)
        return oci.challenge(question) if question.path.startswith(oci.PREFIX) else None

    def _pong(self, question: Question) -> Entry | None:
        """A client asks first whether its token counts."""
        who = oci.asked_as(question)
        if question.path != oci.PREFIX or who is None or self._table.find_kept(_key_of_token(who)) is None:
            return None
        return oci.pong()

    def _document(self, key: Key) -> Entry | None:
        own = self._table.find_kept(key)
        if own is not None:
            return own
        document = self._table.find_kept(for_readers(key))
        if document is not None:
            reader = self._table.find_kept(_reader(key, document)) if key[CREDENTIALS] is not None else None
            if self._may_read(key, document, reader):
                person, token = (reader.access.person, reader.access.token) if reader is not None else (None, None)
                download = document.download and document.download._replace(user_id=person, token_id=token)
                access = replace(document.access, person=person, token=token)
                return replace(document, download=download, access=access)
        return self._table.find_kept(of_anybody(key)) if key[CREDENTIALS] is not None else None

    def _may_read(self, key: Key, document: Entry, reader: Entry | None) -> bool:
        if document.visibility == Visibility.PUBLIC:
            return True
        if reader is None:
            return False
        if document.visibility == Visibility.INTERNAL:
            return True
        is_private = document.visibility == Visibility.PRIVATE
        return is_private and self._table.find_kept(_seen(key[CREDENTIALS], for_readers(key))) is not None

    def _archive(self, question: Question, key: Key) -> Entry | None:
        """A small one. The others are the view's, which reads storage alone meanwhile."""
        asked = self._archives.asked(replace(question, headers=_without_condition(question)))
        if asked is None or asked.link is not None:
            return None
        entry = self._table.find_kept(key if asked.seconds is None else for_links(key))
        return entry and self._as_stale(question, entry)

    def _as_stale(self, question: Question, entry: Entry) -> Entry:
        whole = entry.whole
        body = b"" if question.method == "HEAD" else whole.body
        return replace(entry, whole=replace(whole, headers=(*whole.headers, WARNING), body=body))

    def _mark(self, key: Key, like: Entry) -> None:
        self._table.add(key, replace(like, whole=_NOTHING, download=None, until=0.0))


def _reader(key: Key, document: Entry) -> Key:
    return ("reader", key[CREDENTIALS], document.readers)


def _seen(credentials: str | bytes | None, key: Key) -> Key:
    return ("seen", credentials, repr(key))


def _key_of_token(token: str | bytes) -> Key:
    """By the digest of its secret, or as `oci.asked_as` names it."""
    return ("source_token", token)


def _without_condition(question: Question) -> dict[bytes, bytes]:
    return {name: value for name, value in question.headers.items() if name != b"if-none-match"}
