"""apps.lib.text.diffs: two texts line by line, within a bound."""

import random

import pytest

from apps.lib.text.diffs import Effort, TooDifferent, hunks
from tests.rows import for_each_row


def test_the_lines_of_both_texts_come_back_and_no_edit_is_needless():
    chance = random.Random(7)
    for _ in range(400):
        before, after = ([chance.choice("abc") for _ in range(chance.randrange(9))] for _ in range(2))
        lines = [line for hunk in hunks(before, after, Effort(), context=1_000) for line in hunk.lines]
        if before == after:
            assert lines == []
            continue
        assert [line.text for line in lines if line.sign != "+"] == before
        assert [line.text for line in lines if line.sign != "-"] == after
        assert [line.before for line in lines if line.before] == list(range(1, len(before) + 1))
        assert [line.after for line in lines if line.after] == list(range(1, len(after) + 1))
        assert sum(line.sign == " " for line in lines) == longest_common(before, after)


def longest_common(before, after):
    row = [0] * (len(after) + 1)
    for one in before:
        above = row
        row = [0]
        for position, other in enumerate(after, 1):
            row.append(above[position - 1] + 1 if one == other else max(above[position], row[-1]))
    return row[-1]


def test_changes_far_apart_are_hunks_of_their_own_with_lines_around_them():
    before = [str(number) for number in range(40)]
    after = ["new" if line in ("10", "30") else line for line in before]

    found = hunks(before, after, Effort())

    assert [(hunk.lines[0].before, hunk.lines[-1].before, len(hunk.lines)) for hunk in found] == [
        (8, 14, 8),
        (28, 34, 8),
    ]


@for_each_row(
    "texts",
    [
        ([str(number) for number in range(4_000)], [str(-number - 1) for number in range(4_000)]),
        (["a", "b"] * 2_000, ["b", "c", "a"] * 1_400),
        ([""] * 300_000, ["x"] * 300_000),
    ],
    ids=["nothing in common", "much that is equal", "long"],
)
def test_what_costs_too_much_ends_early(texts):
    effort = Effort()

    with pytest.raises(TooDifferent):
        hunks(texts[0], texts[1], effort)

    assert effort.left > -700_000  # nobody spends much more than there is
