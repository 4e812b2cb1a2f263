"""The generation (D16): which changes are committed, and what they touched, for processes that repeat answers.

A row for each scope holds the number of the last change that touched it; the row of the scope ANYTHING is the counter.
The transaction that bumps it keeps it locked until the commit, so that numbers become visible in order, which a
sequence's do not.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from zlib import crc32

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.audit.kinds import Kind, namespace_of
from apps.lib.addresses import canonical

# Scopes, besides the canonical names of namespaces, which have no slash, `published_in` and `published_at`.
ANYTHING = ""  # changes with every change
EVERYTHING = "/everything"  # nothing that was answered before still holds
ACCESS = "/access"  # people, tokens, teams and roles
_BUCKETS = 1024  # of names: rows and memory stay bounded, and two names of one bucket only end each other's answers
# Where answers are repeated while the database is away (LARDER_SERVE_STALE_SECONDS): so many seconds after a change who
# made it is told of it, if the database still answers then. A process that has not asked for so long repeats nothing.
KNOWN_WITHIN = 0.5

# Nothing that a client reads depends on these.
_QUIET = frozenset(
    {
        Kind.USER_SIGNED_IN,
        Kind.USER_SIGN_IN_FAILED,
        Kind.USER_INVITED,
        Kind.USER_INVITATION_REVOKED,
        Kind.BREAK_GLASS_ISSUED,
        Kind.BREAK_GLASS_USED,
        Kind.SECOND_FACTOR_ADDED,
        Kind.SECOND_FACTOR_REMOVED,
        Kind.RECOVERY_CODES_RENEWED,
        Kind.IDENTITY_CONNECTED,
        Kind.IDENTITY_DISCONNECTED,
        Kind.GROUP_MAPPED,
        Kind.GROUP_UNMAPPED,
        Kind.PASSWORD_CHANGED,
        Kind.SESSIONS_ENDED,
        Kind.TOKEN_ISSUED,
        Kind.TOKEN_LEAKED,
        Kind.ID_TOKEN_REFUSED,
        Kind.LOGIN_ALLOWED,
        Kind.LOGIN_REFUSED,
        Kind.PERMISSION_REFUSED,
        Kind.PROVIDER_DOCS_RECEIVED,
        Kind.RELEASE_RESERVED,
        Kind.RELEASE_FILE_RECEIVED,
        Kind.RELEASE_FILE_REMOVED,
        Kind.RELEASE_RECEIVED,
        Kind.RELEASE_HELD,
        Kind.RELEASE_ANSWERED,
        Kind.RELEASE_APPROVAL_REQUESTED,
        Kind.RELEASE_APPROVED,
        Kind.RELEASE_DECLINED,
        Kind.RELEASE_APPROVAL_REFUSED,
        Kind.RELEASE_REJECTED,
        Kind.RELEASE_FAILED,
        Kind.RELEASE_VERIFY_REQUESTED,
        Kind.RELEASE_SIGNED,
        Kind.RELEASE_SIGNING_REFUSED,
        Kind.RELEASE_RESIGN_REQUESTED,
        Kind.RELEASE_STATED,
        Kind.STATEMENT_KEY_MADE,
        Kind.STATEMENT_KEY_ROTATED,
        Kind.STATEMENT_KEY_RESEALED,
        Kind.ACCESS_REQUESTED,
        Kind.ACCESS_DECLINED,
        Kind.USAGE_NOTIFIED,
        Kind.TRUSTED_EXCHANGED,
        Kind.TRUSTED_EXCHANGE_REFUSED,
        Kind.CLEANUP_RULE_CHANGED,
        Kind.CLEANUP_APPLIED,
        Kind.KEY_REQUESTED,
        Kind.KEY_RESEALED,
        Kind.UPLOAD_ENDED,
        Kind.MAIL_CHANGED,
        Kind.WATCH_STARTED,
        Kind.WATCH_ENDED,
        Kind.WEBHOOK_CREATED,
        Kind.WEBHOOK_CHANGED,
        Kind.WEBHOOK_ROTATED,
        Kind.WEBHOOK_DELETED,
        Kind.WEBHOOK_TESTED,
        Kind.WEBHOOK_REDELIVERED,
        Kind.WEBHOOK_DISABLED,
        Kind.AUDIT_PRUNED,
        Kind.BACKUP_WRITTEN,
        Kind.JOB_RETRIED,
        Kind.JOB_CANCELLED,
        # Whoever changes what a mirror answers touches that provider's scope itself.
        Kind.UPSTREAM_KEY_PINNED,
        Kind.UPSTREAM_ALARM_RAISED,
        Kind.UPSTREAM_PACKAGE_STORED,
        Kind.UPSTREAM_PACKAGES_EVICTED,
        Kind.UPSTREAM_SYNCED,
        Kind.GIT_REPOSITORY_CONNECTED,
        Kind.GIT_REPOSITORY_CHANGED,
        Kind.GIT_REPOSITORY_DISCONNECTED,
        Kind.GIT_REPOSITORY_SYNC_REQUESTED,
        Kind.GIT_HOOK_SECRET_RENEWED,
        Kind.GIT_HOOK_REFUSED,
        Kind.GIT_HOST_KEYS_CHANGED,
        Kind.GIT_HOST_KEYS_TRUSTED,
        Kind.GIT_REPOSITORY_FAILING,
        Kind.GIT_TAG_RETRIED,
        Kind.GIT_TAG_REFUSED,
        Kind.GIT_REFUSALS_NOTIFIED,
        Kind.GIT_TAG_MOVED,
        Kind.GIT_TAG_DELETED,
    }
)
# The same bytes may be published in other namespaces as well.
_BYTES = frozenset(
    {
        Kind.RELEASE_QUARANTINED,
        Kind.RELEASE_RESTORED,
        Kind.RELEASE_PURGED,
        Kind.RELEASE_BYTES_REMOVED,
        Kind.RELEASE_DAMAGED,
    }
)
_STANDING = frozenset(
    {
        Kind.NAMESPACE_CHANGED,
        Kind.NAMESPACE_CREATED,
        Kind.NAMESPACE_DELETED,
        Kind.NAMESPACE_TRANSFERRED,
        Kind.GRANT_GIVEN,
        Kind.GRANT_WITHDRAWN,
    }
)

# Told of what each change touches and of the subject of its event, in the change's transaction. Rooms add theirs.
listeners: list[Callable[[frozenset[str], str], None]] = []

_has_changed = False  # this process, anything


def scopes_of(kind: Kind, subject: str) -> frozenset[str]:
    """Return what an event touches."""
    source = kind.partition(":")[0]
    if kind in _QUIET:
        return frozenset()
    namespace = namespace_of(kind, subject)
    if kind == Kind.RELEASE_PUBLISHED:
        return frozenset({published_in(namespace), published_at(subject.partition(" ")[0])})
    if namespace and kind not in _BYTES:
        return frozenset({namespace, ACCESS} if kind in _STANDING else {namespace})
    return frozenset({ACCESS} if source in ("account", "team") else {EVERYTHING})


def published_in(namespace: str) -> str:
    """The scope that each published version of a namespace touches; all other changes touch the namespace itself."""
    return f"/in/{_bucket(namespace)}"


def published_at(address: str) -> str:
    """The scope that each published version of one module or provider touches."""
    return f"/at/{_bucket(address)}"


def _bucket(name: str) -> int:
    return crc32(canonical(name).encode()) % _BUCKETS


def touch(scopes: Iterable[str], *, subject: str = "", using: str = DEFAULT_DB_ALIAS) -> None:
    """Bump the generation in the current transaction: at its end where the backend offers that.

    Until the commit no other transaction can bump, and on PostgreSQL one that then waits for another row may wait for
    ever. SQLite has one writer anyway.
    """
    touched, connection = frozenset(scopes), connections[using]
    for listen in listeners:
        listen(touched, subject)
    before_commit = getattr(connection, "before_commit", None)
    if before_commit is None:
        _bump(connection, touched)
        return
    # Once for all changes of a transaction, which may be thousands: nobody else can commit meanwhile.
    waiting = next((work for work in before_commit if isinstance(work, _Bump)), None)
    if waiting is None:
        before_commit.append(_Bump(connection, set(touched)))
    else:
        waiting.scopes.update(touched)


@dataclass(slots=True)
class _Bump:
    connection: BaseDatabaseWrapper
    scopes: set[str]

    def __call__(self) -> None:
        _bump(self.connection, self.scopes)


def _bump(connection: BaseDatabaseWrapper, scopes: Iterable[str]) -> None:
    global _has_changed  # noqa: PLW0603  # one for the process
    _has_changed = True
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO audit_generation (scope, number) VALUES (%s, 1) "
            "ON CONFLICT (scope) DO UPDATE SET number = audit_generation.number + 1",
            [ANYTHING],
        )
        for scope in sorted(scopes):
            cursor.execute(
                "INSERT INTO audit_generation (scope, number) SELECT %s, number FROM audit_generation WHERE scope = %s "
                "ON CONFLICT (scope) DO UPDATE SET number = excluded.number",
                [scope, ANYTHING],
            )


def changes_since(connection: BaseDatabaseWrapper, number: int) -> dict[str, int]:
    """Return {scope: number} of what has changed from that number on, which includes ANYTHING.

    Empty for a database that has not come so far: it is another one, or a backup was restored.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT scope, number FROM audit_generation WHERE number >= %s", [number])
        found = dict(cursor.fetchall())
    return found if ANYTHING in found else {}


def changes_at_hand(connection: sqlite3.Connection, number: int) -> dict[str, int]:
    """Return the changes like `changes_since`, of SQLite. It takes microseconds, and Django refuses to ask on an event
    loop.
    """
    found = dict(connection.execute("SELECT scope, number FROM audit_generation WHERE number >= ?", [number]))
    return found if ANYTHING in found else {}


def number_of(scope: str) -> int:
    """The number of the last change that touched the scope; 0 if none has."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute("SELECT number FROM audit_generation WHERE scope = %s", [scope])
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def wait_out() -> None:
    """Wait until every process that may repeat answers during an outage knows the changes of this one.

    The database must still answer then, or its errors pass through.
    """
    if _has_changed and settings.SERVE_STALE_SECONDS:
        time.sleep(KNOWN_WITHIN)
        number_of(ANYTHING)
