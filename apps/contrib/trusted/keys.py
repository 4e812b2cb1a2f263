"""The keys with which issuers sign, remembered in each process.

Asked for again after an hour, and at most once a minute for a key that is not known, since strangers can name any. If
an issuer does not answer, the last keys continue to count; without any, requests of the next seconds fail at once, and
the watch asks it (`lib/process/outside.py`). A token that names a known key waits for no one, and few wait for an
issuer at a time.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from threading import BoundedSemaphore, Lock
from typing import Any
from urllib.parse import urlsplit

import structlog

from apps.contrib.trusted.issuers import Issuer
from apps.lib.errors import Unavailable
from apps.lib.net import fetching
from apps.lib.net.outgoing import NotAnswered
from apps.lib.process import outside

MAX_SECONDS = 5.0
MAX_BYTES = 256 * 1024
MAX_AGE_SECONDS = 3600.0
MIN_REFRESH_SECONDS = 60.0
FAILURE_SECONDS = 10.0
# Of one process: an owner can name any organisation of some vendors.
MAX_ISSUERS = 500
# Threads of one process that wait for one issuer. Strangers can send as many ids of keys as they like.
MAX_WAITING = 4
NEVER = float("-inf")

Key = dict[str, Any]
log = structlog.get_logger("larder.accounts")


class KeysUnavailable(Unavailable):
    def __init__(self, issuer: Issuer, reason: str) -> None:
        super().__init__(
            f"The keys of {issuer.url} cannot be read: {reason}.",
            hint="Try again in a few seconds with the same id token.",
            retry_after=5,
        )


@dataclass
class _Entry:
    keys: list[Key] = field(default_factory=list)
    at: float = NEVER
    refreshed_at: float = NEVER  # because of an unknown key
    failed_at: float = NEVER
    failure: str = ""
    lock: Lock = field(default_factory=Lock)
    places: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MAX_WAITING))


_entries: dict[str, _Entry] = {}
clear = _entries.clear


def keys_for(issuer: Issuer, *, kid: str | None, key_type: str, algorithm: str) -> list[Key]:
    """Return the issuer's keys that may have made a signature: those of that id, or all if it names none.

    Raises KeysUnavailable.
    """
    if len(_entries) >= MAX_ISSUERS and issuer.url not in _entries:
        _entries.pop(next(iter(_entries)), None)
    entry = _entries.setdefault(issuer.url, _Entry())
    fitting = _fitting(entry.keys, kid, key_type, algorithm)
    # While one request asks for newer keys, the others use those that are known.
    if fitting and (time.monotonic() - entry.at <= MAX_AGE_SECONDS or entry.lock.locked()):
        return fitting
    if not entry.places.acquire(blocking=False):
        raise KeysUnavailable(issuer, "others wait for its answer")
    try:
        with outside.waiting():
            if not entry.lock.acquire(timeout=2 * MAX_SECONDS):
                raise KeysUnavailable(issuer, "others wait for its answer")
            try:
                return _asked(entry, issuer, lambda: _fitting(entry.keys, kid, key_type, algorithm))
            finally:
                entry.lock.release()
    finally:
        entry.places.release()


def _asked(entry: _Entry, issuer: Issuer, fitting: Callable[[], list[Key]]) -> list[Key]:
    """Return the fitting keys, after asking the issuer where its keys are old or none fits. Raises KeysUnavailable."""
    now = time.monotonic()
    if now - entry.at > MAX_AGE_SECONDS:
        _renew(entry, issuer)
    found = fitting()
    if not found and now - entry.refreshed_at > MIN_REFRESH_SECONDS:
        # The issuer may have rotated its keys, even while this was asked.
        entry.refreshed_at = now
        if not _renew(entry, issuer):
            raise KeysUnavailable(issuer, entry.failure)
        found = fitting()
    return found


def _renew(entry: _Entry, issuer: Issuer) -> bool:
    """Ask again, and tell whether there is an answer. Raises KeysUnavailable if no keys are known."""
    now = time.monotonic()
    if now - entry.failed_at > FAILURE_SECONDS:
        try:
            entry.keys, entry.at, entry.failed_at = _fetch(issuer), time.monotonic(), NEVER
        except NotAnswered as error:
            entry.failure = str(error)
            if error.code != fetching.LEFT_ALONE:
                entry.failed_at = time.monotonic()
                log.warning("trusted_issuer_keys_not_read", issuer=issuer.url, reason=entry.failure)
        else:
            return True
    if not entry.keys:
        raise KeysUnavailable(issuer, entry.failure)
    return False


def _fitting(keys: list[Key], kid: str | None, key_type: str, algorithm: str) -> list[Key]:
    """A key is for signatures of one kind: its type and, if it names one, its algorithm decide, not the token."""
    return [
        key
        for key in keys
        if key.get("kty") == key_type
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and (kid is None or key.get("kid") == kid)
    ]


def _fetch(issuer: Issuer) -> list[Key]:
    """Raises NotAnswered. No key at all counts as an outage: it must not replace known ones."""
    document = _json_at(issuer, issuer.discovery_url)
    if document.get("issuer") != issuer.url:
        raise NotAnswered("its discovery document is of another issuer")
    where = document.get("jwks_uri")
    if not issuer.may_ask(where):
        raise NotAnswered("its discovery document has no usable jwks_uri")
    listed = _json_at(issuer, str(where)).get("keys")
    found = [key for key in listed if isinstance(key, dict)] if isinstance(listed, list) else []
    if not found:
        raise NotAnswered("it lists no keys")
    return found


def _json_at(issuer: Issuer, url: str) -> dict[str, Any]:
    if not issuer.may_ask(url):
        raise NotAnswered("its address is not https, or is not allowed")
    where, route = urlsplit(url), fetching.Route(allowed=issuer.allowed)
    headers = {"Accept": "application/json", "User-Agent": "Larder"}
    with fetching.guarding(outside.ISSUERS, where, route):
        answer = fetching.exchange("GET", where, headers=headers, route=route, seconds=MAX_SECONDS, max_bytes=MAX_BYTES)
    if answer.status != HTTPStatus.OK:
        # A redirect leads to whoever can have the issuer answer one, so it is not followed.
        raise NotAnswered(f"it answered {answer.status}, expected 200")
    if not answer.is_whole:
        raise NotAnswered(f"its answer was cut off, or has more than {MAX_BYTES} bytes")
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise NotAnswered("its answer is not a JSON object")
    return found
