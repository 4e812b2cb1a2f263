"""Warn at the start of a process if this host's keys differ from those of other hosts."""

import os

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from apps.signing import fingerprints, vault

log = structlog.get_logger("larder.site")


def compare_secret_key() -> str:
    """Log and return a sentence if the secret key differs; empty while the database is away."""
    try:
        problem = fingerprints.secret_key_problem(record=True)
    except (DatabaseError, InterfaceError):
        return ""
    if problem:
        log.error("secret_key_differs", problem=problem)
    return problem


def compare_kek() -> None:
    """Compare the key-encryption key, in a worker that has unlocked it. Skip if its file does not exist yet."""
    try:
        if not vault.uses_file() or os.access(settings.SIGNING_KEK_FILE, os.R_OK):
            vault.compare_keks()
    except (vault.SignerUnavailable, DatabaseError, InterfaceError):
        return  # the file is malformed, which is logged, or the database is away
    finally:
        if not connection.in_atomic_block:  # a test runs in a transaction
            connection.close()  # processes of a prefork pool must not share it
