"""What every test may ask for, in tests/ and in the rooms of apps/contrib."""

pytest_plugins = [
    "tests.cast",
    "tests.chaos.report",
    "tests.failures",
    "tests.garbage",
    "tests.migrated",
    "tests.needs",
    "tests.nothing",
    "tests.progress",
    "tests.larders",  # needs the one before
]
