"""`for_each_row`: every row is tried, a failure names its row, and no row sees what another one wrote."""

from contextlib import contextmanager

import pytest

from apps.accounts.models import User
from tests.cast import person
from tests.rows import for_each_row


class Recorder(dict):
    """Stands for pytest's subtests: how each row failed, by its name."""

    @contextmanager
    def test(self, label):
        self[label] = ""
        try:
            yield
        except AssertionError as error:
            self[label] = str(error).splitlines()[0]


def test_each_row_is_tried_and_a_failure_names_its_row():
    @for_each_row("size", [1, pytest.param(2, id="two"), 3])
    @for_each_row(("unit", "factor"), [("day", 1), ("week", 7)], ids=["D", "W"])
    def judged(size, unit, factor):
        assert (size, unit) != (2, "week"), f"{factor} days"

    recorder = Recorder()
    judged(subtests=recorder)

    assert recorder == {"1-D": "", "1-W": "", "two-D": "", "two-W": "7 days", "3-D": "", "3-W": ""}


def test_no_row_sees_what_another_one_wrote(db):
    @for_each_row("name", ["alice", "bob"])
    def writes(name):
        assert not User.objects.exists()
        person(name)

    recorder = Recorder()
    writes(subtests=recorder)

    assert recorder == {"alice": "", "bob": ""}
    assert not User.objects.exists()


def test_a_table_wants_rows_of_its_width_and_no_marks():
    for values in ([], [(1, 2, 3)], [pytest.param(1, 2, marks=pytest.mark.slow)]):
        with pytest.raises(AssertionError):
            for_each_row("one, two", values)
