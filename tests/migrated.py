"""SQLite's test database: migrated once for each state of the migrations, then copied, which saves each run seconds.

It is a file, as threads of the race tests open connections of their own. Its copy is in the folder of pytest's cache.
"""

import hashlib
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings

from tests.programs import CHECKOUT

COPIES = CHECKOUT / ".pytest_cache" / "larder-databases"
IS_SQLITE = settings.DATABASES["default"]["ENGINE"].endswith("sqlite3")


def copy_of_these_migrations() -> Path:
    digest = hashlib.sha256((CHECKOUT / "requirements.txt").read_bytes())
    for path in sorted(CHECKOUT.glob("apps/**/migrations/*.py")):
        digest.update(f"{path.relative_to(CHECKOUT)}\0".encode() + path.read_bytes())
    return COPIES / f"{digest.hexdigest()[:20]}.sqlite3"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    if IS_SQLITE:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        file = Path(settings.DATA_DIR, f"test-{worker}.sqlite3")
        settings.DATABASES["default"].setdefault("TEST", {})["NAME"] = str(file)
        if (copy := copy_of_these_migrations()).exists():
            shutil.copyfile(copy, file)


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings: None) -> bool:
    """Return whether the file is there; Django then finds nothing to migrate. It goes with the data folder of the
    run.
    """
    return IS_SQLITE and copy_of_these_migrations().exists()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_keepdb: bool) -> None:
    if IS_SQLITE and not django_db_keepdb:
        copy = copy_of_these_migrations()
        COPIES.mkdir(parents=True, exist_ok=True)
        unfinished = copy.with_suffix(f".{os.getpid()}")
        name = settings.DATABASES["default"]["NAME"]
        with closing(sqlite3.connect(name)) as made, closing(sqlite3.connect(unfinished)) as target:
            made.backup(target)
        unfinished.replace(copy)
        for older in set(COPIES.glob("*.sqlite3")) - {copy}:
            older.unlink(missing_ok=True)
