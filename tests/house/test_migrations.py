import hashlib
import io
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db.migrations import operations
from django.db.migrations.loader import MigrationLoader
from django.db.models import NOT_PROVIDED

from tests import rooms
from tests.house import sources

pytestmark = pytest.mark.both


@pytest.mark.django_db
def test_no_migration_is_missing():
    said = io.StringIO()
    try:
        call_command("makemigrations", check=True, dry_run=True, stdout=said, verbosity=3)
    except SystemExit:
        pytest.fail(f"A model changed without its migration:\n{said.getvalue()}")


# Migrations run against the tables of their time: code of today must not take part. What Django itself writes for a
# model's default or manager is listed here with its reason.
EXCEPTIONS: dict[str, set[str]] = {
    # The kinds of audit events, by the name of the function, so that a new one needs no migration.
    "apps/audit/migrations/0001_squashed_0023_append_only.py": {"apps.audit.kinds"},
}


def test_no_migration_imports_our_code():
    migrations = [path for path in sources.python_files("apps") if path.parent.name == "migrations"]
    found = {
        sources.name_of(path): ours
        for path in migrations
        if (ours := {name for name in sources.imported(path) if name.split(".")[0] in ("apps", "registry_site")})
        - EXCEPTIONS.get(sources.name_of(path), set())
    }
    assert migrations
    assert found == {}


LANDED = Path(__file__).with_name("landed_migrations.txt")


def test_a_landed_migration_never_changes():
    """Databases that ran it would differ from those that run it now, and nothing would notice before a page fails.

    The list is in the form of sha256sum and only grows: a migration is added to it in the commit that adds it. It began
    again once, when the 89 migrations from before the first release were squashed into one for each app.
    """
    listed = dict(line.split(maxsplit=1)[::-1] for line in LANDED.read_text().splitlines())
    there = {
        sources.name_of(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sources.python_files("apps")
        if path.parent.name == "migrations" and path.name != "__init__.py"
    }
    changed = sorted(name for name, digest in listed.items() if there.get(name) != digest and not rooms.is_gone(name))
    new = sorted(there.keys() - listed.keys())
    assert not changed, f"Put back what landed, and say the change in a new migration: {', '.join(changed)}"
    assert not new, f"Is it final? Then enter it: sha256sum {' '.join(new)} >> {sources.name_of(LANDED)}"


# --- Old and new code side by side on one database -------------------------------------------------------------------

# One enters here only as the second half of a change whose first half has been released, so that nothing uses the
# column now.
NOT_BESIDE_OLD_CODE: set[str] = set()
TAKES_AWAY = (operations.RemoveField, operations.RenameField, operations.DeleteModel, operations.RenameModel)


def breaks_old_code(operation, own):
    """Old code reads what it takes away, or cannot insert a row because it does not know the column."""
    if isinstance(operation, TAKES_AWAY):
        return True
    if not isinstance(operation, operations.AddField) or operation.model_name_lower in own:
        return False
    field = operation.field
    return not (field.many_to_many or field.null) and field.db_default is NOT_PROVIDED


def test_new_migrations_let_old_code_go_on():
    """Expand first (a column with `null` or `db_default`), contract in a later release."""
    breaking = set()
    for (app, name), migration in MigrationLoader(None).disk_migrations.items():
        own = {one.name_lower for one in migration.operations if isinstance(one, operations.CreateModel)}
        in_database = [
            inner for one in migration.operations for inner in getattr(one, "database_operations", None) or [one]
        ]
        if migration.__module__.startswith("apps.") and any(breaks_old_code(one, own) for one in in_database):
            breaking.add(f"{app}.{name}")

    assert breaking == NOT_BESIDE_OLD_CODE
