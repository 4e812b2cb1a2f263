"""Fixtures of what every machine edge shares."""

from tests.builders.outages import database_away

__all__ = ["database_away"]
