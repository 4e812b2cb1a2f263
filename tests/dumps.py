"""PostgreSQL's tables as `migrate` leaves them: a file with which databases begin, in this run and in later ones.

To migrate takes half a minute of a processor, to read the file about a second.
"""

import os
import subprocess

import psycopg

from tests import postgres
from tests.sharing import DUMP


def keep(url: str) -> None:
    """Write the file, from a database that has nothing else."""
    DUMP.parent.mkdir(parents=True, exist_ok=True)
    unfinished = DUMP.with_suffix(f".{os.getpid()}")
    _run("pg_dump", "--no-owner", "--no-privileges", f"--file={unfinished}", url)
    unfinished.replace(DUMP)


def fill(url: str) -> str:
    """Give an empty database its tables, if the file is there; answers the URL. A Larder migrates the others itself.

    Not by way of a pooler: the file sets what would stay with the pooler's connection.
    """
    with psycopg.connect(url) as database:
        tables = database.execute("SELECT count(*) FROM pg_class WHERE relname = 'django_migrations'").fetchone()
    if DUMP.exists() and tables == (0,):
        _run("psql", "-qX", "--set=ON_ERROR_STOP=1", "--single-transaction", f"--file={DUMP}", url)
    return url


def _run(program: str, *arguments: str) -> None:
    folder = postgres.programs()
    assert folder, "a test that starts PostgreSQL is marked to need it"
    subprocess.run([folder / program, *arguments], check=True, stdout=subprocess.DEVNULL)
