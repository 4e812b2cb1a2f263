"""Two versions of one module side by side, with the files that differ."""

from dataclasses import asdict, dataclass
from typing import Any

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules.catalogue.reading import module_for, version_of
from apps.modules.comparing.changes import between
from apps.modules.comparing.rules import SENTENCES
from apps.modules.models import ModuleVersion
from apps.releases.catalogue.comparing import Comparison, numbers_in, step_between

__all__ = ["ModuleComparison", "compare", "step_between"]


@dataclass(frozen=True, slots=True)
class Files:
    added: list[str]
    removed: list[str]
    changed: list[str]


@dataclass(frozen=True, slots=True)
class ModuleComparison(Comparison):
    versions: tuple[ModuleVersion, ModuleVersion]
    files: Files

    def document(self) -> dict[str, Any]:
        return Comparison.document(self) | {"files": asdict(self.files)}


def compare(viewer: Viewer, address: ModuleAddress, asked: str) -> ModuleComparison:
    """`asked` is `1.2.0...2.0.0`. Raises as the gate does, and NotFound for a number that is not published."""
    module = module_for(viewer, address)
    before, after = (version_of(viewer, module, number) for number in numbers_in(asked))
    changes = between(before.inspection, after.inspection)
    return ModuleComparison(
        module.address, before.release, after.release, changes, SENTENCES, (before, after), _files(before, after)
    )


def _files(before: ModuleVersion, after: ModuleVersion) -> Files:
    old, new = ({one["name"]: one for one in version.files} for version in (before, after))
    return Files(
        added=sorted(new.keys() - old.keys()),
        removed=sorted(old.keys() - new.keys()),
        changed=sorted(name for name in old.keys() & new.keys() if _differ(old[name], new[name])),
    )


def _differ(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """By size, and by checksum unless one of the two was read by an older Larder."""
    if "crc" in old and "crc" in new:
        return (old["size"], old["crc"]) != (new["size"], new["crc"])
    return bool(old["size"] != new["size"])
