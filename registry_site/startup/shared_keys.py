"""Saying at the start of a process that this host has other keys than the hosts beside it."""

import os

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from apps.signing import fingerprints, vault

log = structlog.get_logger("larder.site")


def compare_secret_key() -> str:
    """The sentence for the person at the terminal, which is in the log as well. Empty while the database is away."""
    try:
        problem = fingerprints.secret_key_problem(record=True)
    except (DatabaseError, InterfaceError):
        return ""
    if problem:
        log.error("secret_key_differs", problem=problem)
    return problem


def compare_kek() -> None:
    """For workers, which have unlocked the key-encryption key. Without its file there is nothing to compare yet."""
    try:
        if os.access(settings.SIGNING_KEK_FILE, os.R_OK):
            vault.compare_keks()
    except (vault.SignerUnavailable, DatabaseError, InterfaceError):
        return  # the file is malformed, which the log says, or the database is away
    finally:
        if not connection.in_atomic_block:  # as a test's own transaction is
            connection.close()  # processes of a prefork pool must not share it
