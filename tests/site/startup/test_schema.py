"""A database whose tables are not those of this version: refused in words, not found out page by page."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from registry_site.startup import schema
from registry_site.startup.bootstrap import CannotStartError
from tests.postgres import free_port
from tests.rows import for_each_row
from tests.site.commands import manage


@pytest.mark.both
@pytest.mark.django_db
def test_the_tables_that_the_migrations_made_are_those_of_the_models():
    assert list(schema.mismatches(apps)) == []
    schema.check()


@pytest.mark.both
@pytest.mark.django_db
@for_each_row(
    ("change", "difference"),
    [
        ("ALTER TABLE blobs_blob DROP COLUMN leaving_until", "blobs_blob has no column leaving_until"),
        ("ALTER TABLE blobs_blob ADD COLUMN of_tomorrow integer", None),
        ("ALTER TABLE oci_collection RENAME TO oci_other", "there is no table oci_collection"),
        ("DROP INDEX releases_version_once", "releases_release has no releases_version_once"),
        ("DROP INDEX releases_blocked", "releases_release has no releases_blocked"),
    ],
)
def test_what_is_missing_is_named_and_what_is_too_many_is_not(change: str, difference: str | None):
    with connection.cursor() as cursor:
        cursor.execute(change)

    assert list(schema.mismatches(apps)) == ([difference] if difference else [])
    if difference:
        with pytest.raises(CannotStartError, match=difference):
            schema.check()


@pytest.mark.both
@pytest.mark.django_db
def test_an_unknown_column_without_which_no_row_is_taken_is_named():
    """SQLite adds no such column to a table that is there, so the table is made again."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE jobs_heartbeat RENAME TO jobs_old")
        cursor.execute("SELECT * FROM jobs_old WHERE 1 = 0")
        columns = ", ".join(f"{column[0]} integer" for column in cursor.description)
        cursor.execute(
            f"CREATE TABLE jobs_heartbeat ({columns}, wanted integer NOT NULL, spare integer NOT NULL DEFAULT 1)"
        )

    assert "jobs_heartbeat needs an unknown column wanted" in list(schema.mismatches(apps))
    assert not [found for found in schema.mismatches(apps) if "spare" in found]


@pytest.fixture
def tables(tmp_path: Path, django_db_setup: None) -> Path:
    """The database of a data folder, with the tables of this version: copied where the tests run on SQLite."""
    (tmp_path / "data").mkdir(mode=0o700)
    path = tmp_path / "data" / "db.sqlite3"
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(connection.settings_dict["NAME"])) as ours, closing(sqlite3.connect(path)) as copy:
            ours.backup(copy)
    else:
        assert manage(tmp_path, "migrate", "--verbosity=0").returncode == 0
    return path


@pytest.mark.slow
def test_no_process_starts_on_tables_that_do_not_match(tmp_path: Path, tables: Path):
    """An edited migration: recorded as applied, and one of its columns was never made."""
    execute(tables, "ALTER TABLE blobs_blob DROP COLUMN leaving_until")

    for command in ("up", "web", "worker"):
        said = refusal(tmp_path, command)
        assert "blobs_blob has no column leaving_until" in said
        assert "start with an empty database" in said


def execute(path: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as database, database:
        return database.execute(sql).fetchall()


def refusal(folder: Path, command: str) -> str:
    done = manage(folder, command, LARDER_LISTEN=f"127.0.0.1:{free_port()}")
    assert done.returncode == 1, command
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.slow
def test_a_migration_that_fails_is_a_sentence(tmp_path: Path, tables: Path):
    execute(tables, "DELETE FROM django_migrations WHERE app = 'signing'")

    said = refusal(tmp_path, "up")

    assert "cannot be upgraded to this version" in said
    assert "signing.0001_squashed_0008_created_by_token" in said


@pytest.mark.slow
def test_tables_of_an_edited_migration_are_refused_before_another_runs(tmp_path: Path):
    """A migration that changes the table has SQLite rebuild it, and write `signed_at` into each row as text."""
    (tmp_path / "data").mkdir(mode=0o700)
    assert manage(tmp_path, "migrate", "releases", "--verbosity=0").returncode == 0
    database = tmp_path / "data" / "db.sqlite3"
    execute(database, "ALTER TABLE releases_release DROP COLUMN signed_at")

    for command in ("up", "migrate"):
        assert "releases_release has no column signed_at" in refusal(tmp_path, command)
        assert execute(database, "SELECT name FROM sqlite_master WHERE name = 'modules_moduleversion'") == []
