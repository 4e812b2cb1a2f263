"""Check that the tables of the database are those that this version's models expect.

Django trusts its list of applied migrations. If a migration was changed after it ran, or a newer Larder has migrated
the database, pages would fail one by one with `no such column`.
"""

import re
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import structlog
from django.apps import apps
from django.apps.registry import Apps
from django.core.management import call_command
from django.core.management.commands.migrate import Command as DjangoMigrate
from django.db import DatabaseError, connection
from django.db.migrations.exceptions import InconsistentMigrationHistory
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from apps.jobs import database_availability
from apps.lib.errors import Invalid
from apps.lib.process.progress import Progress
from apps.room import all_of
from registry_site.startup import disk_space, restoring
from registry_site.startup.bootstrap import CannotStartError, until_tables_are_free

SHOWN = 3
NO_TABLES = "The database has no tables yet: run `manage.py migrate` first."
# The last commit that has, one by one, the migrations that 0.1.0 squashed.
UNSQUASHED = "0969f85"
START_EMPTY = "set them aside and start with an empty database (another LARDER_DATA_DIR or LARDER_DATABASE_URL)"

# Set once this process, or the one that forked it, has found the tables to be this version's.
known = threading.Event()

log = structlog.get_logger("larder.start")

# One query for all columns: table, column, and whether an insert must name it.
_COLUMNS = {
    "sqlite": """
        SELECT tables.name, columns.name, columns."notnull" AND columns.dflt_value IS NULL AND NOT columns.pk
        FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'""",
    # Not information_schema, which hides what the role may not read.
    "postgresql": """
        SELECT relname, attname, attnotnull AND NOT atthasdef AND attidentity = ''
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = ANY (current_schemas(false)) AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped""",
}
# In both databases a unique constraint with a condition is an index.
_RULES = {
    "sqlite": "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL",
    "postgresql": """
        SELECT 'index', indexname, '' FROM pg_indexes WHERE schemaname = ANY (current_schemas(false))
        UNION ALL SELECT 'constraint', conname, '' FROM pg_constraint""",
}


@dataclass
class _State:
    columns: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    needed: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    rules: set[str] = field(default_factory=set)


def bring_up_to_date() -> None:
    """Migrate. Raises CannotStartError if that fails, or if the tables do not match the migrations."""
    try:
        # Not our command, which would take and release the lock that this process has already.
        command = Migrate()
        command.begin()
        until_tables_are_free(partial(call_command, command, interactive=False, verbosity=0))
        check()
    except (DatabaseError, InconsistentMigrationHistory) as error:
        try:
            waiting = lacking()
        except DatabaseError:
            raise error from None  # the database is away: the tables are not the reason
        raise CannotStartError(
            f"The database cannot be upgraded to this version: {type(error).__name__} ({error}) while "
            f"{waiting[0] if waiting else 'the list of migrations'} was applied. Earlier migrations stay applied. "
            "Tables of a development version whose migrations changed later cannot be upgraded: run the version that "
            f"created them; or {START_EMPTY}."
        ) from error
    call_command("createcachetable", verbosity=0)
    import_module("apps.accounts.access.staff_roles").bring_up_to_date()  # its models need loaded apps


class Migrate(DjangoMigrate):
    """Django's command, which also says how long the rest takes."""

    progress: Progress | None = None

    def begin(self) -> None:
        """Raise CannotStartError unless the tables are as they should be, and the disk has room for the change."""
        waiting = check_recorded()
        if waiting and (lacking := " ".join(disk_space.lacking(_room_to_migrate()))):
            raise CannotStartError(f"{lacking} Migrations copy tables. Nothing was changed: free space, and try again.")
        self.progress = Progress("migrations", waiting)

    def migration_progress_callback(self, action: str, migration: Any = None, fake: bool = False) -> None:  # noqa: FBT001, FBT002  # Django's
        super().migration_progress_callback(action, migration, fake)
        if action == "apply_success" and self.progress is not None:
            self.progress.add()


def _room_to_migrate() -> Iterator[tuple[Path, int]]:
    """Yield what SQLite needs: it copies a changed table to its log, then to its file. PostgreSQL has its own disk."""
    if connection.vendor == "sqlite" and (file := Path(str(connection.settings_dict["NAME"]))).is_file():
        yield file, 2 * file.stat().st_size


def require() -> None:
    """Raise CannotStartError if the tables are not this version's, in a process that does not migrate.

    If PostgreSQL is away, only warn: requests are answered with 503 until it is back.
    """
    if connection.vendor == "sqlite" and not Path(str(connection.settings_dict["NAME"])).is_file():
        raise CannotStartError(NO_TABLES)
    try:
        restoring.require_none()
        check()
    except database_availability.AWAY as error:
        if connection.vendor == "sqlite":
            raise
        log.warning("schema_not_checked", reason=str(error).strip().splitlines()[0])
    finally:
        connection.close()


def check() -> None:
    """Raise CannotStartError unless this version can work with the tables."""
    if migrations := lacking():
        raise CannotStartError(sentence(migrations))
    _refuse(list(mismatches(apps)))
    ask_rooms()
    known.set()


def ask_rooms() -> None:
    """Raise CannotStartError if a room refuses this database."""
    _call("start_checks")


def prepare() -> None:
    """Have rooms bring the database to what the settings say. Raises CannotStartError."""
    _call("preparations")


def _call(contribution: str) -> None:
    for function in all_of(contribution):
        try:
            function()
        except Invalid as refusal:
            raise CannotStartError(f"{refusal} {refusal.hint}".strip()) from refusal


def check_recorded() -> int:
    """Raise CannotStartError unless the tables match the recorded migrations, before any other migration runs.

    Return how many will run.

    Afterwards it is too late: for many changes SQLite rebuilds a table, and if the old one lacks a column, it writes
    the column's name as text into every row.
    """
    check_history()
    loader = MigrationExecutor(connection).loader
    applied = [node for node in loader.graph.nodes if node in loader.applied_migrations]
    if applied and len(applied) < len(loader.graph.nodes):
        _refuse(list(mismatches(loader.project_state(applied).apps)))
    return len(loader.graph.nodes) - len(applied)


def check_history() -> None:
    """Raise CannotStartError if only some of the migrations that a squashed one replaces were applied.

    Django would raise NodeNotFoundError, or for an app on which no other depends, run nothing and say nothing.
    """
    applied = MigrationRecorder(connection).applied_migrations()
    for app, name, replaced in squashed():
        missing = [one for one in replaced if one not in applied]
        if 0 < len(missing) < len(replaced):
            raise CannotStartError(
                f"An earlier development version made the database: it has {len(replaced) - len(missing)} of the "
                f"{len(replaced)} migrations that {app}.{name} replaces, and lacks {'.'.join(missing[0])}. This "
                "version can only upgrade a database that has them all. Nothing was changed. Run `manage.py migrate` "
                f"of commit {UNSQUASHED}, which still has each of them, and then this version; or {START_EMPTY}."
            )


def squashed() -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yield each squashed migration: its app, its name, and what it replaces, the last one last."""
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    for (app, name), migration in sorted(loader.disk_migrations.items()):
        if migration.replaces:
            yield app, name, list(migration.replaces)


def _refuse(found: list[str]) -> None:
    if not found:
        return
    more = f", and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    raise CannotStartError(
        "The tables of the database do not match the migrations listed as applied: "
        f"{'; '.join(found[:SHOWN])}{more}. They come from a development version whose migrations changed later, or "
        f"from a newer Larder. Nothing was changed. Run the version that created them; or {START_EMPTY} and publish "
        "again; or restore a backup of this version."
    )


def lacking() -> list[str]:
    """Return the migrations that are not applied yet, as `accounts.0019_some_change`."""
    check_history()
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def sentence(migrations: list[str]) -> str:
    with connection.cursor() as cursor:
        if "accounts_user" not in connection.introspection.table_names(cursor):
            return NO_TABLES
    first = migrations[0]
    more = f" and {len(migrations) - 1} more" if len(migrations) > 1 else ""
    return f"The database lacks {first}{more}, which this version needs: run `manage.py migrate` first."


def mismatches(of: Apps) -> Iterator[str]:
    """Yield a phrase for each missing table, column, constraint or index.

    Unknown columns do no harm unless every insert must name them.
    """
    found = _read()
    for model in of.get_models(include_auto_created=True):
        meta = model._meta  # noqa: SLF001  # Django's documented name for it
        if not meta.managed or meta.proxy:
            continue
        table = meta.db_table
        if table not in found.columns:
            yield f"there is no table {table}"
            continue
        expected = {column.column for column in meta.local_concrete_fields if column.column}
        yield from (f"{table} has no column {name}" for name in sorted(expected - found.columns[table]))
        yield from (f"{table} needs an unknown column {name}" for name in sorted(found.needed[table] - expected))
        named = {rule.name for rule in (*meta.constraints, *meta.indexes) if rule.name}  # not those that Django names
        yield from (f"{table} has no {name}" for name in sorted(named - found.rules))


def _read() -> _State:
    found = _State()
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS[connection.vendor])
        for table, column, is_needed in cursor.fetchall():
            found.columns[table].add(column)
            if is_needed:
                found.needed[table].add(column)
        cursor.execute(_RULES[connection.vendor])
        for kind, name, sql in cursor.fetchall():
            # SQLite has the constraints of a table only in its SQL.
            found.rules |= set(re.findall(r'CONSTRAINT "([^"]+)"', sql)) if kind == "table" else {name}
    return found
