"""`make test-changed` chooses the tests that a change reaches."""

from tests import rooms
from tests.changed import reached_by, smallest
from tests.house.sources import name_of
from tests.rows import for_each_row


@for_each_row(
    ("file", "chosen", "spared"),
    [
        ("apps/lib/constraints.py", "tests/lib", "tests/jobs"),
        ("apps/portal/search/page.py", "tests/portal/search", "tests/portal/people"),
        ("apps/jobs/claims.py", "tests/jobs", "tests/lib/test_constraints.py"),
        *((f"{name_of(folder.parent)}/room.py", name_of(folder), "tests/portal/people") for folder in rooms.HERE),
        ("templates/portal/base.html", "tests/portal", "tests/jobs"),
        ("tests/oci/conftest.py", "tests/oci", "tests/jobs"),
        ("docs/oci.md", "tests/house", "tests/jobs"),
    ],
)
def test_what_imports_a_changed_file_is_tested_and_what_does_not_is_spared(file, chosen, spared):
    found = smallest(reached_by({file}))
    assert chosen in found
    assert spared not in found
