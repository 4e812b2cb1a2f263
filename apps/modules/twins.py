"""Names in an archive that differ only in letter case: file systems that ignore it can store only one of them."""

from collections.abc import Collection

from apps.lib.archives.layouts import SUBMODULES, is_beside_module, is_module_file
from apps.lib.archives.rules.names import case_twins
from apps.lib.archives.sandboxed import Refusal
from apps.lib.errors import Reason


def settle(names: Collection[str], prefix: str) -> tuple[dict[str, Reason], dict[str, Reason]]:
    """Return the names to leave out, with warnings; and, by published name, those of them that a module file may name.

    Of two names the one that a module loads is kept, else the first. Raises Refusal where it loads both.
    """
    published = {name: name.removeprefix(prefix) for name in names}
    loaded = [name for name, own in published.items() if is_loaded(own) and not is_beside_module(own)]
    first = set(loaded)
    reasons = {
        name: Reason(
            code="duplicate_name",
            file=published[name],
            found=f"it beside {twin.removeprefix(prefix)!r}, the same name except for letter case",
            expected="each name once",
            hint="Rename one of them.",
        )
        for name, twin in case_twins([*loaded, *(name for name in names if name not in first)])
    }
    if both := [reason for name, reason in reasons.items() if name in first]:
        raise Refusal(both)
    shown = {reason.file: reason for reason in reasons.values()}
    return reasons, {name: reason for name, reason in shown.items() if not is_beside_module(name)}


def is_loaded(name: str) -> bool:
    """Clients load this name, as a module file or as a submodule, before they look into any file."""
    folder, _, last = name.rpartition("/")
    return is_module_file(last) or folder.rpartition("/")[2] == SUBMODULES
