"""The migrations from before 0.1.0 are squashed: a database that has them all goes on, one that has some is refused."""

from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError
from django.db import connection
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from apps.accounts.models import User
from registry_site.management.commands import migrate
from registry_site.startup import schema
from registry_site.startup.bootstrap import CannotStartError
from tests.cast import person
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db


def squashed() -> list[tuple[str, str]]:
    return [(app, name) for app, name, _ in schema.squashed()]


def replaced() -> list[tuple[str, str]]:
    return [one for _, _, those in schema.squashed() for one in those]


@pytest.fixture
def recorded() -> MigrationRecorder:
    """The list of the last commit with the old migrations: their names, and not yet those of the squashed ones."""
    recorder = MigrationRecorder(connection)
    for app, name in squashed():
        recorder.record_unapplied(app, name)
    return recorder


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each statement about the schema."""
    found: list[str] = []
    run = connection.SchemaEditorClass.execute

    def note(editor: BaseDatabaseSchemaEditor, sql: Any, *arguments: Any) -> None:
        found.append(str(sql))
        run(editor, sql, *arguments)

    monkeypatch.setattr(connection.SchemaEditorClass, "execute", note)
    return found


def test_each_app_is_squashed_once_and_from_all_it_had():
    assert [app for app, _ in squashed()] == sorted({app for app, _ in replaced()})
    assert len(replaced()) == len(set(replaced())) == 89
    assert not set(squashed()) & set(replaced())


def test_no_new_migration_has_the_name_of_an_old_one():
    """It would count as applied in each database that ran the old one."""
    assert not set(MigrationLoader(None).disk_migrations) & set(replaced())


@pytest.mark.both
def test_a_database_with_all_of_them_goes_on_unchanged(recorded, changes):
    person("alice")

    schema.bring_up_to_date()

    assert changes == []
    assert set(squashed()) | set(replaced()) <= set(recorded.applied_migrations())
    assert User.objects.filter(username="alice").exists()
    assert schema.lacking() == []
    assert list(schema.mismatches(apps)) == []


@pytest.mark.both
def test_a_new_database_is_ready_for_the_version_before_as_well():
    """That version may run beside this one: it finds its own migrations applied."""
    assert set(replaced()) <= set(MigrationRecorder(connection).applied_migrations())


@pytest.mark.both
@for_each_row(
    ("app", "name"),
    [("accounts", "0018_created_by_token"), ("notify", "0003_created_by_token"), ("audit", "0023_append_only")],
)
def test_a_database_with_some_of_them_is_refused(recorded, changes, app, name):
    recorded.record_unapplied(app, name)

    for begin in (schema.bring_up_to_date, schema.check):
        with pytest.raises(CannotStartError, match=f"and lacks {app}.{name}") as refusal:
            begin()
        assert f"Run `manage.py migrate` of commit {schema.UNSQUASHED}," in str(refusal.value)
    with pytest.raises(CommandError, match=f"and lacks {app}.{name}"):
        migrate.Command().begin()
    assert changes == []
    assert not set(squashed()) & set(recorded.applied_migrations())
