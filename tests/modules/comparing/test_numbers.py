"""The meaning of a number, and the version with which a new one is compared."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from apps.modules.comparing.guard import compare_with_current
from apps.modules.models import ModuleVersion
from apps.releases.catalogue.comparing import next_breaking, says_breaking, step_between
from tests.rows import for_each_row

VPC = ModuleAddress("acme", "vpc", "aws")


@for_each_row(
    ("before", "after", "step", "says"),
    [
        ("1.2.3", "1.2.4", "patch", False),
        ("1.2.3", "1.3.0", "minor", False),
        ("1.2.3", "2.0.0", "major", True),
        ("1.2.3", "3.4.5", "major", True),
        ("1.2.3", "1.3.0-rc.1", "minor", False),
        ("1.2.3", "2.0.0-rc.1", "major", True),
        ("0.2.3", "0.2.4", "patch", False),
        ("0.2.3", "0.3.0", "minor", True),
        ("0.0.3", "0.0.4", "patch", False),
        ("0.2.3", "1.0.0", "major", True),
        ("2.0.0-rc.1", "2.0.0", "pre-release", True),
        ("2.0.0-rc.1", "2.0.0-rc.2", "pre-release", True),
        ("1.2.4", "1.2.3", "", False),
        ("2.0.0", "2.0.0-rc.1", "", False),
        ("1.2.3", "1.2.3+build", "", False),
        ("1.2.3+build", "1.2.4+another", "patch", False),
        ("1.2.3+build", "2.0.0", "major", True),
    ],
)
def test_a_number_says_that_something_may_break(before, after, step, says):
    assert (step_between(before, after), says_breaking(before, after)) == (step, says)


@for_each_row(
    ("before", "after"), [("1.2.3", "2.0.0"), ("0.2.3", "0.3.0"), ("0.0.1", "0.1.0"), ("2.0.0-rc.1", "3.0.0")]
)
def test_the_next_number_that_says_so_is_named(before, after):
    assert next_breaking(before) == after
    assert says_breaking(before, after)


@pytest.fixture
def compared(published, acme):
    """The version with which a new one is compared, among published ones."""

    def compare(version: str) -> str:
        found = compare_with_current(acme, "vpc/aws", version, {"units": []})
        return found.against if found else ""

    return compare


@pytest.mark.both
def test_the_highest_lower_version_that_is_stable_is_the_measure(published, compared, alice, olga):
    assert compared("1.0.0") == ""
    for version in ("2.0.0-rc.1", "1.2.3", "2.0.0", "1.2.0", "1.3.0"):
        published(version=version)

    assert compared("1.0.0") == ""
    assert compared("1.2.4") == "1.2.3"  # a patch of an older line
    assert compared("1.2.4-rc.1+build") == "1.2.3"
    assert compared("1.9.1") == "1.3.0"  # published after 2.0.0
    assert compared("1.3.0-rc.1") == "1.2.3"
    assert compared("2.0.0-rc.2") == "1.3.0"  # its users come from there, not from rc.1
    assert compared("2.0.1") == "2.0.0"
    lifecycle.yank(viewer=Viewer(olga), address=VPC, version="2.0.0", reason="It was a mistake.")
    assert compared("2.0.1") == "1.3.0"
    lifecycle.quarantine(viewer=Viewer(olga), address=VPC, version="1.3.0", reason="It has a key.")
    assert compared("2.0.1") == "1.2.3"


def test_where_nothing_is_stable_or_all_is_yanked_the_best_of_the_rest_is(published, compared, olga):
    for version in ("1.0.0-rc.1", "1.0.0-rc.2"):
        published(version=version)
    assert compared("1.0.0") == "1.0.0-rc.2"
    lifecycle.yank(viewer=Viewer(olga), address=VPC, version="1.0.0-rc.2", reason="It was a mistake.")
    assert compared("1.0.0") == "1.0.0-rc.1"
    published(version="1.0.0")
    lifecycle.yank(viewer=Viewer(olga), address=VPC, version="1.0.0", reason="It was a mistake.")
    assert compared("1.0.1") == "1.0.0"  # its users have to go somewhere
    ModuleVersion.objects.filter(release__version="1.0.0").update(inspector="")
    assert compared("1.0.1") == "", "a reader that gave up has read nothing to compare with"
