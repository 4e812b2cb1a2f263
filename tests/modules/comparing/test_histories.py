"""The guard over the history of real modules: its verdicts, as a person has read them (docs/version-guard.md).

`histories/<module>.json.xz` has what Larder's inspector found in each tag: names and types, and digests of other texts.
"""

import json
import lzma
from collections import Counter
from pathlib import Path

import pytest

from apps.lib import versions
from apps.modules.comparing.changes import between
from apps.modules.comparing.guard import GuardResult
from tests.rows import for_each_row

FOLDER = Path(__file__).with_name("histories")
MODULES = sorted(path.name.partition(".")[0] for path in FOLDER.glob("*.json.xz"))
NAMED = 4


def lines_of(module):
    """A line for each version: with which it is compared, what the number says, and what breaks."""
    history = json.loads(lzma.decompress((FOLDER / f"{module}.json.xz").read_bytes()))
    measure = None
    for entry in history:  # by precedence
        if measure is not None:
            yield line_of(GuardResult(entry["version"], measure["version"], between(measure, entry)))
        if measure is None or not is_prerelease(entry) or is_prerelease(measure):
            measure = entry


def is_prerelease(entry):
    return versions.parse(entry["version"]).is_prerelease


def line_of(result):
    if not result.breaking:
        return f"{result.version} after {result.against}: nothing breaks"
    rules = Counter(change.rule for change in result.breaking)
    found = ", ".join(f"{rule} {count}" for rule, count in sorted(rules.items()))
    said = "said" if result.is_said else "NOT SAID"
    names = " ".join(sorted({change.name for change in result.breaking})[:NAMED])
    return f"{result.version} after {result.against}: {said}, {found} ({names})"


@pytest.mark.slow
@for_each_row("module", MODULES)
def test_the_verdicts_are_those_that_a_person_has_read(module):
    assert len(MODULES) >= 5
    assert list(lines_of(module)) == (FOLDER / f"{module}.txt").read_text().splitlines()
