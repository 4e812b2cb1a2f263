"""Fixtures for every test, in tests/ and in the rooms of apps/contrib."""

from tests import rooms

collect_ignore = [str(folder) for folder in rooms.ALL if folder not in rooms.HERE]
pytest_plugins = [
    "tests.cast",
    "tests.chaos.report",
    "tests.e2e.providers",  # one depot for each Larder: a fixture that two files import is made twice
    "tests.failures",
    "tests.garbage",
    "tests.migrated",
    "tests.needs",
    "tests.nothing",
    "tests.progress",  # those below need it
    "tests.larders",  # the last needs it
    "tests.turns",
]
