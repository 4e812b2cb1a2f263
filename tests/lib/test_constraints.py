"""The cases of OpenTofu's documentation, and those where clients surprise."""

import pytest

from apps.lib import versions
from apps.lib.constraints import Constraint
from apps.lib.errors import Invalid

ALLOWED = [
    ("", "1.2.0"),
    ("1.2.0", "1.2.0"),
    ("= 1.2.0", "1.2.0"),
    ("=1.2.0", "1.2.0"),
    ("1.2", "1.2.0"),
    ("1", "1.0.0"),
    ("v1.2.0", "1.2.0"),
    ("01.2.0", "1.2.0"),
    ("1.2.0+build.7", "1.2.0"),
    ("1.2.0", "1.2.0+build.7"),
    ("!= 1.2.0", "1.2.1"),
    ("> 1.2.0", "1.2.1"),
    (">= 1.2.0", "1.2.0"),
    ("< 2.0.0", "1.99.99"),
    ("<= 1.2.0", "1.2.0"),
    ("~> 1.0.4", "1.0.4"),
    ("~> 1.0.4", "1.0.10"),
    ("~> 1.1", "1.1.0"),
    ("~> 1.1", "1.10.3"),
    ("~> 1", "1.0.0"),
    ("~> 1", "9.0.0"),
    ("~>1.1", "1.4.0"),
    (">= 1.2.0, < 2.0.0", "1.9.0"),
    (" >= 1.2.0 ,< 2.0.0 , != 1.4.0", "1.3.0"),
    (">= 1.2.0-rc.1", "1.2.0"),
    ("2.0.0-rc.1", "2.0.0-rc.1"),
    ("= 2.0.0-rc.1", "2.0.0-rc.1"),
]
REFUSED = [
    ("1.2.0", "1.2.1"),
    ("1.2", "1.2.1"),
    ("!= 1.2.0", "1.2.0"),
    ("> 1.2.0", "1.2.0"),
    (">= 1.2.0", "1.1.9"),
    ("< 2.0.0", "2.0.0"),
    ("<= 1.2.0", "1.2.1"),
    ("~> 1.0.4", "1.1.0"),
    ("~> 1.0.4", "1.0.3"),
    ("~> 1.1", "2.0.0"),
    ("~> 1.1", "1.0.9"),
    ("~> 1", "0.9.0"),
    (">= 1.2.0, < 2.0.0", "2.0.0"),
    (">= 1.2.0, != 1.4.0", "1.4.0"),
    # Pre-releases only where one is named, exactly and alone.
    ("", "2.0.0-rc.1"),
    (">= 1.0.0", "2.0.0-rc.1"),
    ("~> 2.0.0-rc.1", "2.0.0-rc.1"),
    ("~> 2.0.0-rc.1", "2.0.1"),
    ("2.0.0-rc.1, > 1.0.0", "2.0.0-rc.1"),
    ("2.0.0-rc.2", "2.0.0-rc.1"),
    ("2.0.0-rc.1", "2.0.0"),
    ("2.0.0", "2.0.0-rc.1"),
    ("!= 2.0.0", "2.0.0-rc.1"),
]
UNREADABLE = ["latest", ">= 1.2.0,", ",", "=> 1.2.0", "~> 1.2.3.4", ">= 1.x", "1.2.0 || 2.0.0", "^1.2.0", ">= 1 2"]


@pytest.mark.parametrize(("constraint", "version"), ALLOWED)
def test_it_allows(constraint, version):
    assert Constraint.parse(constraint).allows(versions.parse(version))


@pytest.mark.parametrize(("constraint", "version"), REFUSED)
def test_it_refuses(constraint, version):
    assert not Constraint.parse(constraint).allows(versions.parse(version))


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_clients_cannot_read_is_invalid(text):
    with pytest.raises(Invalid, match="expected an operator and a version"):
        Constraint.parse(text)


@pytest.mark.parametrize(
    ("constraint", "taken"),
    [("", "2.1.0"), ("~> 1.2", "1.10.0"), ("1.2.0", "1.2.0"), ("3.0.0-rc.1", "3.0.0-rc.1"), ("> 3", None)],
)
def test_the_highest_that_is_offered_is_taken(constraint, taken):
    offered = ["3.0.0-rc.1", "2.1.0", "1.10.0", "1.9.0", "1.2.0"]

    assert Constraint.parse(constraint).highest(offered) == taken
