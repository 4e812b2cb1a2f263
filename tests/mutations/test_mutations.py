"""`python -m tests.mutations` runs for an hour; that each mutation can be applied is cheap to know."""

from tests import needs
from tests.mutations import mutations


def test_there_are_at_least_eighty_and_each_still_has_its_line_and_its_tests():
    found = mutations()
    problems = []
    for one in found:
        count = (needs.CHECKOUT / one.file).read_text().count(one.old) if (needs.CHECKOUT / one.file).is_file() else 0
        problems += [f"{one.name}: {one.file} has its line {count} times"] if count != 1 else []
        problems += [
            f"{one.name}: there is no {test}"
            for test in one.tests
            if not (needs.CHECKOUT / test.partition("::")[0]).exists()
        ]
    assert not problems
    assert len(found) >= 80
