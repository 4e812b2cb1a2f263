"""What is too dear for each day takes turns by the date: in `make test-all` a part of it, all of it at night."""

from datetime import date

TODAY = date.today().toordinal()  # noqa: DTZ011  # any day will do


def is_today(number: int, of: int) -> bool:
    """Return whether the turn of this one, numbered from 0, of so many is today."""
    return TODAY % of == number % of
