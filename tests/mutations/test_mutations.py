"""`python -m tests.mutations` runs for an hour; that each mutation can be applied is cheap to know."""

from tests.mutations import mutations
from tests.programs import CHECKOUT


def is_there(path, name):
    return (CHECKOUT / path).exists() and (not name or f"def {name}(" in (CHECKOUT / path).read_text())


def test_there_are_at_least_eighty_and_each_still_has_its_line_and_its_tests():
    found = mutations()
    problems = []
    for one in found:
        count = (CHECKOUT / one.file).read_text().count(one.old) if (CHECKOUT / one.file).is_file() else 0
        problems += [f"{one.name}: {one.file} has its line {count} times"] if count != 1 else []
        problems += [
            f"{one.name}: there is no {test}" for test in one.tests if not (CHECKOUT / test.partition("::")[0]).exists()
        ]
    assert not problems
    assert len(found) >= 80
