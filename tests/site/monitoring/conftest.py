from tests.builders.outages import database_away

__all__ = ["database_away"]
