"""The rows of all tables as files that any of our databases can read: SQLite to PostgreSQL and back.

A table is a gzipped file of JSON lines, the names of its columns first. Values are written and read by the fields of
Django's models. Rows are loaded into the tables of the migrations that they were dumped under, and migrated from there.
"""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

from django.apps.registry import Apps
from django.core.management.color import no_style
from django.db import connection, connections, models, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.models.expressions import Value

from apps.audit import months
from apps.lib.process.progress import Progress
from registry_site.startup import restoring, schema
from registry_site.startup.bootstrap import CannotStartError, until_tables_are_free

ALIAS = "snapshot"
BATCH_ROWS = 500
EVENTS = "audit_auditevent"
_Field = models.Field[Any, Any]
# Sessions end with a restore, heartbeats belong to processes.
LEFT_OUT = ("django_session", "jobs_heartbeat")


def tables_of(registry: Apps) -> dict[str, type[models.Model]]:
    found = {model._meta.db_table: model for model in registry.get_models(include_auto_created=True)}  # noqa: SLF001
    return {table: found[table] for table in sorted(found) if table not in LEFT_OUT}


def migrations() -> dict[str, str]:
    """Return the last migration of each app that this version knows."""
    return dict(MigrationExecutor(connection).loader.graph.leaf_nodes())


@contextmanager
def snapshot() -> Iterator[str]:
    """Yield the alias of a connection that sees the database as it is now, however long it reads. No connection
    waits.
    """
    default = connections["default"].settings_dict
    options = {name: value for name, value in default["OPTIONS"].items() if name != "pool"}
    if connection.vendor == "sqlite":
        options["transaction_mode"] = "DEFERRED"  # takes no lock, and reads one state of the WAL
    else:
        from psycopg import IsolationLevel

        options["isolation_level"] = IsolationLevel.REPEATABLE_READ
    # Its own cursors on the server: all within one transaction, as a pooler wants it.
    settings = {**default, "OPTIONS": options, "DISABLE_SERVER_SIDE_CURSORS": False}
    connections.settings[ALIAS] = settings
    try:
        with transaction.atomic(using=ALIAS), connections[ALIAS].cursor() as cursor:
            cursor.execute("SELECT count(*) FROM django_migrations")  # the snapshot begins here
            if connection.vendor != "sqlite":
                cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0")
            yield ALIAS
    finally:
        connections[ALIAS].close()
        del connections[ALIAS]
        del connections.settings[ALIAS]


def count(found: Iterable[type[models.Model]], using: str) -> int:
    return sum(model._base_manager.using(using).count() for model in found)  # noqa: SLF001


def write_table(model: type[models.Model], file: Path, using: str, progress: Progress) -> int:
    """Write all rows; return how many."""
    fields = model._meta.concrete_fields  # noqa: SLF001
    rows = model._base_manager.using(using).order_by("pk").values_list(*(field.attname for field in fields))  # noqa: SLF001
    written = 0
    with gzip.open(file, "wt", encoding="utf-8", compresslevel=5) as out:
        out.write(json.dumps([field.attname for field in fields]) + "\n")
        for row in progress.over(rows.iterator(chunk_size=2000)):
            out.write(json.dumps([_plain(value) for value in row], ensure_ascii=False) + "\n")
            written += 1
    return written


def _plain(value: Any) -> Any:
    """Not Django's encoder, which drops microseconds: the digests of the audit chain are made of them."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    return str(value) if isinstance(value, UUID | Decimal) else value


def last_numbers(using: str) -> dict[str, int]:
    """Return the last key that each table gave: that of a deleted row is not given again, since the audit names it."""
    with connections[using].cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name, seq FROM sqlite_sequence")
            return dict(cursor.fetchall())
        cursor.execute(
            "SELECT tables.relname, last_value FROM pg_sequences "
            "JOIN pg_class AS sequences ON sequences.relname = sequencename AND sequences.relkind = 'S' "
            "JOIN pg_depend ON pg_depend.objid = sequences.oid AND deptype IN ('a', 'i') "
            "JOIN pg_class AS tables ON tables.oid = refobjid WHERE last_value IS NOT NULL"
        )
        return dict(cursor.fetchall())


def is_empty() -> bool:
    """Return whether the database is unused: it may have tables, not people. Creates no file."""
    if connection.vendor == "sqlite" and not Path(connection.settings_dict["NAME"]).exists():
        return True
    with connection.cursor() as cursor:
        if "accounts_user" not in connection.introspection.table_names(cursor):
            return True
        cursor.execute("SELECT EXISTS (SELECT 1 FROM accounts_user)")
        return not cursor.fetchone()[0]


def nodes_of(state: dict[str, str], loader: MigrationLoader) -> list[tuple[str, str]]:
    """Return the migrations of a copy that are brought up to date. Raises CannotStartError if this version cannot."""
    for app, name, replaced in schema.squashed():
        node = (app, state.get(app, ""))
        if node == replaced[-1]:
            state = {**state, app: name}
        elif node in replaced:
            raise CannotStartError(
                f"The copy is of an earlier development version: it ends with {'.'.join(node)}, which this version has "
                f"only as a part of {app}.{name}. Restore it with commit {schema.UNSQUASHED}, which has it, and then "
                "upgrade that database to this version."
            )
    nodes = [node for node in state.items() if node in loader.graph.nodes]
    if unknown := sorted(set(state.items()) - set(nodes)):
        raise CannotStartError(
            f"The copy is of a newer Larder: this one does not know the migration {'.'.join(unknown[0])}. Use the "
            "version that made the copy, or a later one."
        )
    return nodes


def load(folder: Path, state: dict[str, str], last: dict[str, int], *, rows: int) -> None:
    """Fill an empty database with the files of a folder, and migrate it to this version. Raises CannotStartError.

    If an earlier try was killed, continue: migrations go forward only, and rows that are all there are not read again.
    `rows`: how many there are.
    """
    loader = MigrationExecutor(connection).loader
    nodes = nodes_of(state, loader)
    if not restoring.begun()[1]:
        # All at once, and without what follows Django's command: those rows come with the copy.
        until_tables_are_free(lambda: MigrationExecutor(connection).migrate(nodes))
        found = tables_of(loader.project_state(nodes).apps)
        if EVENTS in found:
            _add_audit_months(folder / f"{EVENTS}.jsonl.gz")
        _load_rows(folder, found, last, Progress("restored rows", rows))
    schema.bring_up_to_date()


def _add_audit_months(file: Path) -> None:
    """Prepare the months of the copy, so that pruning drops them instead of deleting their rows."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        names, first = json.loads(next(lines)), next(lines, "")
    if first:
        months.add(since=datetime.fromisoformat(json.loads(first)[names.index("at")]))


def _load_rows(folder: Path, found: dict[str, type[models.Model]], last: dict[str, int], progress: Progress) -> None:
    """All at once: a restore that is killed here begins again with these tables."""
    fill = _copy if connection.vendor == "postgresql" else _insert
    with transaction.atomic():
        for model in found.values():
            model._base_manager.all()._raw_delete(connection.alias)  # noqa: SLF001  # rows that migrations have made
        for table, model in found.items():
            with gzip.open(folder / f"{table}.jsonl.gz", "rt", encoding="utf-8") as lines:
                fields = {field.attname: field for field in model._meta.concrete_fields}  # noqa: SLF001
                ordered = [fields[name] for name in json.loads(next(lines))]
                fill(model, ordered, map(json.loads, progress.over(lines)))
        _continue(list(found.values()), last)
        restoring.rows_are_there()


def _insert(model: type[models.Model], ordered: list[_Field], rows: Iterator[list[Any]]) -> None:
    size = min(BATCH_ROWS, connection.ops.bulk_batch_size(ordered, [None] * BATCH_ROWS))
    names = [field.attname for field in ordered]
    while batch := list(islice(rows, size)):
        made = [model(**dict(zip(names, map(_value, ordered, row), strict=True))) for row in batch]
        # `raw`: as they are, without the dates that fields set themselves.
        model._base_manager._insert(made, fields=ordered, using=connection.alias, raw=True)  # type: ignore[attr-defined]  # noqa: SLF001


def _copy(model: type[models.Model], ordered: list[_Field], rows: Iterator[list[Any]]) -> None:
    """A tenth of the work of INSERT: PostgreSQL reads the values from the text in which the file has most of them."""
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in ordered)
    written = [next((text for kind, text in _TEXTS.items() if isinstance(field, kind)), None) for field in ordered]
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")  # sets the time-outs of this transaction
        with cursor.copy(f"COPY {quote(model._meta.db_table)} ({columns}) FROM STDIN") as copy:  # noqa: SLF001
            for row in rows:
                copy.write_row(
                    [
                        value if text is None else text(field, value)
                        for value, field, text in zip(row, ordered, written, strict=True)
                    ]
                )


def _json_text(field: _Field, value: Any) -> str | None:
    return None if value is None and field.null else json.dumps(value)


def _hex_text(_field: _Field, value: str | None) -> str | None:
    return None if value is None else f"\\x{value}"


_TEXTS: dict[type[_Field], Callable[[_Field, Any], str | None]] = {
    models.JSONField: _json_text,
    models.BinaryField: _hex_text,
}


def _value(field: _Field, value: Any) -> Any:
    if isinstance(field, models.JSONField):
        return Value(None, models.JSONField()) if value is None and not field.null else value
    if isinstance(field, models.BinaryField):
        return None if value is None else bytes.fromhex(value)
    if isinstance(field, models.ForeignKey):
        return field.target_field.to_python(value)
    return field.to_python(value)


def _continue(found: list[type[models.Model]], last: dict[str, int]) -> None:
    """Let the keys of new rows follow those that were given before."""
    with connection.cursor() as cursor:
        for sql in connection.ops.sequence_reset_sql(no_style(), found):
            cursor.execute(sql)
        for model in found:
            table, key = model._meta.db_table, model._meta.pk  # noqa: SLF001
            if table not in last or key is None:
                continue
            if connection.vendor == "sqlite":
                cursor.execute("UPDATE sqlite_sequence SET seq = max(seq, %s) WHERE name = %s", [last[table], table])
                if not cursor.rowcount:
                    cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, last[table]])
            else:
                quoted = [connection.ops.quote_name(word) for word in (str(key.column), table)]
                newest = "SELECT COALESCE(max({}), 1) FROM {}".format(*quoted)  # noqa: S608  # our own names
                cursor.execute(
                    f"SELECT setval(pg_get_serial_sequence(%s, %s), GREATEST(%s, ({newest})))",
                    [table, key.column, last[table]],
                )
