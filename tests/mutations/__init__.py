"""One-line edits, each of which removes a protection that a test must notice."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests import rooms


@dataclass(frozen=True)
class Mutation:
    """`old` occurs once in `file`, and becomes `new`; at least one of `tests` fails then."""

    area: str
    name: str
    file: str
    old: str
    new: str
    tests: list[str]
    database: str = "sqlite"

    def apply(self, folder: Path) -> None:
        path = folder / self.file
        text = path.read_text()
        assert text.count(self.old) == 1, f"{self.file}: {text.count(self.old)} times {self.old!r}, expected once"
        path.write_text(text.replace(self.old, self.new))


def mutations() -> list[Mutation]:
    """Return those of this folder and of the rooms, but for those that only the tests of a room notice that is gone."""
    tables = [tomllib.loads((Path(__file__).parent / "mutations.toml").read_text()), *rooms.tables("mutations")]
    found = [
        Mutation(area=area, name=name, **fields)
        for table in tables
        for area, entries in table.items()
        for name, fields in entries.items()
    ]
    return [one for one in found if not all(map(rooms.is_gone, one.tests))]
