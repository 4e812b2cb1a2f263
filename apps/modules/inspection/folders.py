"""The findings in the files of one folder together: which clients refuse to load it, and why.

What several folders of an archive say together (calls among them, their inputs and providers) is not known here:
`apps.modules.inspection.archive` looks at the whole archive.
"""

from collections.abc import Iterable, Mapping, Sequence

from apps.lib.hcl.files import Diagnostic
from apps.modules.inspection.blocks import Reading
from apps.modules.inspection.declarations import Conflict, Declarations
from apps.modules.inspection.language.clients import EVERY, ONLY_OPENTOFU, Finding
from apps.modules.inspection.language.files import findings_in
from apps.modules.inspection.language.judge import Judged
from apps.modules.inspection.language.overrides import mistaken_instances, overridden, unmet


def findings_of(readings: Mapping[str, Reading], found: Declarations) -> list[Finding]:
    """Return what some client refuses. Terraform ignores `.tofu` files: beside others, theirs stop only OpenTofu."""
    read_by_all = read_by_all_clients(readings)
    findings = findings_in(readings[path] for path in read_by_all)
    for path in readings.keys() - set(read_by_all):
        only = findings_in([readings[path]])
        if fault := readings[path].fault:
            only.append(Finding(fault))
        findings += [Finding(one.diagnostic, one.refusing & ONLY_OPENTOFU) for one in only]
    findings += overridden(found)
    findings += [Finding(one.diagnostic, one.refusing) for one in found.conflicts if one.refusing != EVERY]
    if all(reading.is_complete for reading in readings.values()):
        findings += unmet((readings[path] for path in read_by_all), found)
        if len(read_by_all) == len(readings) and not found.overridden:
            findings += mistaken_instances(readings.values())
    return findings


def read_by_all_clients(readings: Mapping[str, Reading]) -> list[str]:
    """The files whose faults stop every client that loads the folder.

    Terraform ignores `.tofu` files, and reads the `.tf` files that a `.tofu` file hides from OpenTofu. So in a folder
    with both, only faults in `.tf` files stop either of them.
    """
    return [path for path in readings if not path.endswith((".tofu", ".tofu.json"))] or list(readings)


def is_known(readings: Mapping[str, Reading]) -> bool:
    """Return whether every client reads the same files of a folder, and Larder all of each."""
    is_same = len(read_by_all_clients(readings)) == len(readings)
    return is_same and all(reading.is_complete and all(map(_has_uses, reading.judged)) for reading in readings.values())


def _has_uses(judged: Judged) -> bool:
    return judged.uses is not None


def faults_of(
    readings: Mapping[str, Reading], conflicts: Sequence[Conflict], refused: Iterable[Finding], *, is_whole: bool
) -> list[Diagnostic]:
    """Faults that stop every client that loads the folder. Only certain ones: a false alarm is worse than a miss.

    `readings` are in OpenTofu's order; `is_whole`: they are all files of the folder; `refused`: by every client.
    """
    read_by_all = read_by_all_clients(readings)
    is_whole &= len(read_by_all) == len(readings) and all(reading.is_complete for reading in readings.values())
    found = [reading.fault for path, reading in readings.items() if reading.fault and path in read_by_all]
    for conflict in conflicts:
        if conflict.refusing != EVERY:
            continue
        is_sure = conflict.other in read_by_all if conflict.other else is_whole
        if conflict.diagnostic.file in read_by_all and is_sure:
            found.append(conflict.diagnostic)
    places = {(one.file, one.line) for one in found}
    found += [one.diagnostic for one in refused if (one.diagnostic.file, one.diagnostic.line) not in places]
    return found
