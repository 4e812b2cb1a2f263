import io

import pytest
from django.core.management import call_command

from tests.house import sources


@pytest.mark.django_db
def test_no_migration_is_missing():
    said = io.StringIO()
    try:
        call_command("makemigrations", check=True, dry_run=True, stdout=said, verbosity=3)
    except SystemExit:
        pytest.fail(f"A model changed without its migration:\n{said.getvalue()}")


# Migrations run against the tables of their time: code of today must not take part. What Django itself writes for a
# model's default or manager is listed here with its reason.
EXCEPTIONS: dict[str, set[str]] = {}


@pytest.mark.once
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
