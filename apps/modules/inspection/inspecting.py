"""Run the inspection in a sandboxed child process."""

import tempfile
from collections.abc import Collection, Mapping
from typing import Any

from apps.lib.sandbox import parent
from apps.modules.inspection import units
from apps.modules.inspection.blocks import Diagnostic
from apps.modules.inspection.units import Folder

_MIB = 1024 * 1024
LIMITS = parent.Limits(seconds=10, memory_bytes=512 * _MIB, document_bytes=16 * _MIB)


def inspect(texts: Mapping[str, bytes], sizes: Mapping[str, int], chosen: Collection[str] = ()) -> dict[str, Any]:
    """The declarations of the module files among `texts`, in the shape that the package documents; raises nothing.

    `sizes` are the sizes of all files in the archive, by their paths; `chosen` as for `units.folders_of`. If the child
    fails, the document has a root unit with one warning, and `failed` is true: a publish must not fail because a page
    has no inputs.
    """
    wanted = {path: text for path, text in texts.items() if units.is_read(path)}
    known = {path: size for path, size in sizes.items() if units.is_read(path)}
    try:
        with tempfile.TemporaryFile() as file:
            for text in wanted.values():
                file.write(text)
            file.flush()
            parts = [[path, len(text)] for path, text in wanted.items()]
            request = {"texts": parts, "sizes": dict(known), "chosen": list(chosen)}
            return parent.run(
                program="apps.modules.inspection.child", request=request, stdin=file, limits=LIMITS, site_packages=True
            )
    except parent.TooExpensive as error:
        return _without("The module files were not read: reading them took", str(error))
    except (parent.CheckBroken, OSError) as error:
        return _without("The module files were not read, because Larder's reader failed:", str(error))


def _without(words: str, cause: str) -> dict[str, Any]:
    root = Folder("", "root", ())
    return {"units": [units.empty_unit(root, [Diagnostic("", 1, 1, f"{words} {cause}")])], "failed": True}
