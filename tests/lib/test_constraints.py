"""The cases of OpenTofu's documentation, and those where clients surprise."""

import pytest

from apps.lib import versions
from apps.lib.constraints import Constraint
from apps.lib.errors import Invalid
from tests.rows import for_each_row

# For each constraint the versions that it allows, and those that it does not: pre-releases only where one is named,
# exactly and alone.
CASES = {
    "": ("1.2.0", "2.0.0-rc.1"),
    "1.2.0": ("1.2.0 1.2.0+build.7", "1.2.1"),
    "= 1.2.0": ("1.2.0", ""),
    "=1.2.0": ("1.2.0", ""),
    "1.2": ("1.2.0", "1.2.1"),
    "1": ("1.0.0", ""),
    "v1.2.0": ("1.2.0", ""),
    "01.2.0": ("1.2.0", ""),
    "1.2.0+build.7": ("1.2.0", ""),
    "!= 1.2.0": ("1.2.1", "1.2.0"),
    "> 1.2.0": ("1.2.1", "1.2.0"),
    ">= 1.2.0": ("1.2.0", "1.1.9"),
    "< 2.0.0": ("1.99.99", "2.0.0"),
    "<= 1.2.0": ("1.2.0", "1.2.1"),
    "~> 1.0.4": ("1.0.4 1.0.10", "1.1.0 1.0.3"),
    "~> 1.1": ("1.1.0 1.10.3", "2.0.0 1.0.9"),
    "~> 1": ("1.0.0 9.0.0", "0.9.0"),
    "~>1.1": ("1.4.0", ""),
    ">= 1.2.0, < 2.0.0": ("1.9.0", "2.0.0"),
    " >= 1.2.0 ,< 2.0.0 , != 1.4.0": ("1.3.0", ""),
    ">= 1.2.0-rc.1": ("1.2.0", ""),
    "2.0.0-rc.1": ("2.0.0-rc.1", "2.0.0"),
    "= 2.0.0-rc.1": ("2.0.0-rc.1", ""),
    ">= 1.2.0, != 1.4.0": ("", "1.4.0"),
    ">= 1.0.0": ("", "2.0.0-rc.1"),
    "~> 2.0.0-rc.1": ("", "2.0.0-rc.1 2.0.1"),
    "2.0.0-rc.1, > 1.0.0": ("", "2.0.0-rc.1"),
    "2.0.0-rc.2": ("", "2.0.0-rc.1"),
    "2.0.0": ("", "2.0.0-rc.1"),
    "!= 2.0.0": ("", "2.0.0-rc.1"),
}
UNREADABLE = ["latest", ">= 1.2.0,", ",", "=> 1.2.0", "~> 1.2.3.4", ">= 1.x", "1.2.0 || 2.0.0", "^1.2.0", ">= 1 2"]


@for_each_row("constraint", CASES)
def test_it_allows_what_clients_take(constraint):
    allowed, refused = (text.split() for text in CASES[constraint])
    read = Constraint.parse(constraint)

    assert [one for one in allowed + refused if read.allows(versions.parse(one))] == allowed


@for_each_row("text", UNREADABLE)
def test_what_clients_cannot_read_is_invalid(text):
    with pytest.raises(Invalid, match="expected an operator and a version"):
        Constraint.parse(text)


@for_each_row(
    ("constraint", "taken"),
    [("", "2.1.0"), ("~> 1.2", "1.10.0"), ("1.2.0", "1.2.0"), ("3.0.0-rc.1", "3.0.0-rc.1"), ("> 3", None)],
)
def test_the_highest_that_is_offered_is_taken(constraint, taken):
    offered = ["3.0.0-rc.1", "2.1.0", "1.10.0", "1.9.0", "1.2.0"]

    assert Constraint.parse(constraint).highest(offered) == taken


@for_each_row(
    ("constraint", "covered", "others"),
    [
        ("", "1.2.0 2.0.0-rc.1", ""),
        (">= 5.0, < 6.0", "5.0.0-beta1 5.9.9 5.1.0-rc.1+b", "6.0.0-rc.1 6.0.0 4.9.9"),
        ("~> 5.1", "5.1.0-rc.1 5.9.0", "6.0.0-rc.1 5.0.9"),
        ("= 2.0.0", "2.0.0 2.0.0+b", "2.0.0-rc.1"),
        ("!= 2.0.0", "2.0.0-rc.1", "2.0.0"),
        (">= 2.0.0-rc.2", "2.0.0-rc.2 2.0.0-rc.10 2.0.0", "2.0.0-rc.1"),
        ("> 2.0.0", "2.0.1-rc.1", "2.0.0 2.0.0-rc.1"),
    ],
)
def test_a_range_of_people_takes_pre_releases_as_their_release(constraint, covered, others):
    read = Constraint.parse(constraint)

    assert [one for one in f"{covered} {others}".split() if read.covers(versions.parse(one))] == covered.split()
