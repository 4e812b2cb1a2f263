"""Whether the database has the tables of this version."""

from pathlib import Path

import structlog
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from apps.jobs import outages
from registry_site.preparation import CannotStartError

log = structlog.get_logger("larder.site")


def lacking() -> list[str]:
    """The migrations that are not applied yet, as `accounts.0001_initial`."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def sentence(migrations: list[str]) -> str:
    first = migrations[0]
    if first.endswith(".0001_initial") and len(migrations) > 1 and _is_empty():
        return "The database has no tables yet: run `manage.py migrate` first."
    more = f" and {len(migrations) - 1} more" if len(migrations) > 1 else ""
    return f"The database lacks {first}{more}, which this version needs: run `manage.py migrate` first."


def require() -> None:
    """Raises CannotStartError where tables are missing.

    A PostgreSQL that is away is no reason to stop: it comes back, and until then requests are answered with 503.
    """
    if connection.vendor == "sqlite" and not Path(str(connection.settings_dict["NAME"])).is_file():
        raise CannotStartError("The database has no tables yet: run `manage.py migrate` first.")
    try:
        migrations = lacking()
    except outages.AWAY as error:
        if connection.vendor == "sqlite":
            raise
        log.warning("schema_not_checked", reason=str(error).strip().splitlines()[0])
        return
    finally:
        connection.close()
    if migrations:
        raise CannotStartError(sentence(migrations))


def _is_empty() -> bool:
    with connection.cursor() as cursor:
        return "accounts_user" not in connection.introspection.table_names(cursor)
