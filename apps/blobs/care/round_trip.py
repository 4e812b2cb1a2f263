"""Prove that storage works: write, read, create only once, delete; and compare its clock with this host's."""

import secrets
from datetime import timedelta

from django.utils import timezone

from apps.blobs import backends
from apps.lib.errors import RegistryError

FOLDER = "doctor"


class Unsound(RegistryError):
    """Storage answers, but does not do what publishing relies on."""


def try_storage() -> None:
    """Raise StorageUnavailable if storage is away, and Unsound if it must not be published to."""
    backend, key = backends.current(), f"{FOLDER}/{secrets.token_hex(8)}"
    if not backend.put_once(key, b"first"):
        raise Unsound("a new object was rejected as if it existed")
    try:
        if backend.put_once(key, b"second"):
            raise Unsound("an existing object was overwritten: storage cannot create objects only once")
        if b"".join(backend.read(key, 0, None)) != b"first":
            raise Unsound("an object was read back with different bytes")
    finally:
        backend.delete(key)
    if backend.size(key) is not None:
        raise Unsound("a deleted object is still there")


def clock_offset(limit: timedelta) -> str:
    """Return `behind` or `ahead` if storage dates a new object so much earlier or later than this host, else empty."""
    backend, key = backends.current(), f"{FOLDER}/{secrets.token_hex(8)}"
    now = timezone.now()
    backend.put_once(key, b"when?")
    try:
        if key in backend.older(key, now - limit):
            return "behind"
        return "" if key in backend.older(key, timezone.now() + limit) else "ahead"
    finally:
        backend.delete(key)
