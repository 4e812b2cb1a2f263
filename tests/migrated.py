"""The test database: migrated once for the workers of a run, then copied. Migrating takes each of them half a minute.

SQLite's is a file, as threads of the race tests open connections of their own. PostgreSQL's is a template of the
server, which ends with the run. A copy of each is in the folder of pytest's cache, for each state of the migrations.
"""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management.commands import flush

from registry_site.backends.database import give_up_connections
from tests import dumps
from tests.sharing import COPY, DUMP, Turn

DATABASE = settings.DATABASES["default"]
IS_SQLITE = DATABASE["ENGINE"].endswith("sqlite3")
# What `migrate` fills. To write the first two anew took a tenth of a second after each test with transactions of its
# own, and nobody wrote the roles of staff anew.
FILLED_BY_MIGRATE = {"django_content_type", "auth_permission", "auth_group", "auth_group_permissions"}
turn = Turn("migrating")


def flush_others(style: Any, connection: Any, **options: bool) -> Any:
    """Return the statements that empty all other tables."""
    tables = set(connection.introspection.django_table_names(only_existing=True, include_views=False))
    return connection.ops.sql_flush(style, sorted(tables - FILLED_BY_MIGRATE), **options)


vars(flush).update(sql_flush=flush_others, emit_post_migrate_signal=lambda *_: None)
TEMPLATE = f"larder_{COPY.stem}"


def url_of(database: str) -> str:
    return f"{os.environ['LARDER_TEST_DATABASE_URL'].rpartition('/')[0]}/{database}"


def server() -> "psycopg.Connection[Any]":
    return psycopg.connect(os.environ["LARDER_TEST_DATABASE_URL"], autocommit=True)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Copy the database if there is one to copy. If not, this process has the turn to make it."""
    test = DATABASE.setdefault("TEST", {})
    turn.take()
    if IS_SQLITE:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        test["NAME"] = str(Path(settings.DATA_DIR, f"test-{worker}.sqlite3"))
        if COPY.exists():
            shutil.copyfile(COPY, test["NAME"])
            turn.end()
        return
    with server() as postgres:
        has_template = postgres.execute("SELECT 1 FROM pg_database WHERE datname = %s", [TEMPLATE]).fetchone()
        if DUMP.exists() and not has_template:
            postgres.execute(f"CREATE DATABASE {TEMPLATE}")
            dumps.fill(url_of(TEMPLATE))
        if DUMP.exists() or has_template:
            name = test.get("NAME") or f"test_{DATABASE['NAME']}"
            postgres.execute(f"DROP DATABASE IF EXISTS {name}")
            postgres.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
            turn.end()


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings: None) -> bool:
    """Return whether the tables are there; Django then finds nothing to migrate. They go with the data folder or the
    server of the run.
    """
    return not turn.is_taken


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_keepdb: bool) -> None:
    if not turn.is_taken:
        return
    name = DATABASE["NAME"]
    if IS_SQLITE:
        COPY.parent.mkdir(parents=True, exist_ok=True)
        unfinished = COPY.with_suffix(f".{os.getpid()}")
        with closing(sqlite3.connect(name)) as made, closing(sqlite3.connect(unfinished)) as target:
            made.backup(target)
        unfinished.replace(COPY)
    else:
        give_up_connections()
        with server() as postgres:
            postgres.execute(f"CREATE DATABASE {TEMPLATE} TEMPLATE {name}")
        dumps.keep(url_of(TEMPLATE))
    for older in {*COPY.parent.glob("*.sqlite3"), *COPY.parent.glob("*.sql")} - {COPY, DUMP}:
        older.unlink(missing_ok=True)
    turn.end()
