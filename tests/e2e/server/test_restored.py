"""A database file that was copied aside, and put back after a token was revoked."""

import os
import signal
import sqlite3

import pytest

from tests.live import Live, start_live

pytestmark = [pytest.mark.live, pytest.mark.embedded("copies SQLite's file")]


def status(larder: Live, token: str) -> int:
    with larder.client(token) as client:
        return client.get("/api/v1/namespaces/demo").status_code


def copy(source: str, target: str) -> None:
    """Copy the database like SQLite's own backup."""
    with sqlite3.connect(source) as database, sqlite3.connect(target) as other:
        database.backup(other)


def test_a_restored_copy_does_not_revive_a_revoked_token(tmp_path):
    revoke = (
        "from apps.accounts.identity import tokens; from apps.accounts.access.gate import NOBODY; "
        "tokens.revoke(token=tokens.identify('{}'), actor=NOBODY)"
    )
    with start_live(tmp_path, why="it ends, and an older database comes in its place") as larder:
        database, backup = larder.data_dir / "db.sqlite3", tmp_path / "backup.sqlite3"
        revoked, other = larder.token(), larder.token()
        copy(str(database), str(backup))
        larder.manage("shell", "-c", revoke.format(revoked))
        assert (status(larder, revoked), status(larder, other)) == (401, 200)
        os.kill(larder.process.pid, signal.SIGTERM)
        larder.process.wait(30)
    for name in ("db.sqlite3", "db.sqlite3-wal", "db.sqlite3-shm"):
        (larder.data_dir / name).unlink(missing_ok=True)
    backup.rename(database)

    with start_live(tmp_path, why="it starts with an older database") as larder:
        assert (status(larder, revoked), status(larder, other)) == (401, 401)
        assert status(larder, larder.token()) == 200, "what is made since counts"
        assert "older_database_found" in larder.output.read_text()
        larder.manage("restored", "--revoke-tokens")
        assert status(larder, other) == 401
