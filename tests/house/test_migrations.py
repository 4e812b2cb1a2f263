import hashlib
import io
from pathlib import Path

import pytest
from django.core.management import call_command

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
EXCEPTIONS: dict[str, set[str]] = {}


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

    The list is in the form of sha256sum and only grows: a migration is added to it in the commit that adds it.
    """
    listed = dict(line.split(maxsplit=1)[::-1] for line in LANDED.read_text().splitlines())
    there = {
        sources.name_of(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sources.python_files("apps")
        if path.parent.name == "migrations" and path.name != "__init__.py"
    }
    changed = sorted(name for name, digest in listed.items() if there.get(name) != digest)
    new = sorted(there.keys() - listed.keys())
    assert not changed, f"Put back what landed, and say the change in a new migration: {', '.join(changed)}"
    assert not new, f"Is it final? Then enter it: sha256sum {' '.join(new)} >> {sources.name_of(LANDED)}"
