"""A database whose tables are not those of this version: refused in words, not found out page by page."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection

from registry_site.startup import schema
from registry_site.startup.bootstrap import CannotStartError
from tests.live import CHECKOUT
from tests.postgres import free_port
from tests.rows import for_each_row


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
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LARDER_", "DJANGO_"))}
    return kept | {"LARDER_DATA_DIR": str(tmp_path / "data"), "LARDER_LISTEN": f"127.0.0.1:{free_port()}"}


def manage(environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def tables(environment: dict[str, str], tmp_path: Path, django_db_setup: None) -> Path:
    """The database of a data folder, with the tables of this version: copied where the tests run on SQLite."""
    (tmp_path / "data").mkdir(mode=0o700)
    path = tmp_path / "data" / "db.sqlite3"
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(connection.settings_dict["NAME"])) as ours, closing(sqlite3.connect(path)) as copy:
            ours.backup(copy)
    else:
        assert manage(environment, "migrate", "--verbosity=0").returncode == 0
    return path


@pytest.mark.slow
def test_no_process_starts_on_tables_that_do_not_match(environment: dict[str, str], tables: Path):
    """An edited migration: recorded as applied, and one of its columns was never made."""
    with sqlite3.connect(tables) as database:
        database.execute("ALTER TABLE blobs_blob DROP COLUMN leaving_until")
    database.close()

    for command in ("up", "web", "worker"):
        done = manage(environment, command)
        assert done.returncode == 1, command
        assert "blobs_blob has no column leaving_until" in done.stderr
        assert "start with an empty database" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_migration_that_fails_is_a_sentence(environment: dict[str, str], tables: Path):
    with sqlite3.connect(tables) as database:
        database.execute("DELETE FROM django_migrations WHERE app = 'signing'")
    database.close()

    done = manage(environment, "up")

    assert done.returncode == 1
    assert "cannot be upgraded to this version" in done.stderr
    assert "signing.0001_squashed_0008_created_by_token" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_tables_of_an_edited_migration_are_refused_before_another_runs(environment: dict[str, str], tmp_path: Path):
    """A migration that changes the table has SQLite rebuild it, and write `signed_at` into each row as text."""
    (tmp_path / "data").mkdir(mode=0o700)
    assert manage(environment, "migrate", "releases", "--verbosity=0").returncode == 0
    with sqlite3.connect(tmp_path / "data" / "db.sqlite3") as database:
        database.execute("ALTER TABLE releases_release DROP COLUMN signed_at")
    database.close()

    for command in ("up", "migrate"):
        done = manage(environment, command)

        assert done.returncode == 1, command
        assert "releases_release has no column signed_at" in done.stderr
        assert "Traceback" not in done.stderr
        with sqlite3.connect(tmp_path / "data" / "db.sqlite3") as database:
            made = database.execute("SELECT name FROM sqlite_master WHERE name = 'modules_moduleversion'").fetchall()
        database.close()
        assert made == []
