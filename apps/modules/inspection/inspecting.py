"""Run the inspection in sandboxed child processes: several, if there is much to read."""

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from typing import Any, BinaryIO

from apps.lib.hcl.files import Diagnostic
from apps.lib.sandbox import parent
from apps.lib.sandbox.positioned import Place
from apps.lib.sandbox.shares import one_file, shares_of
from apps.modules.inspection import units
from apps.modules.inspection.units import Document, Folder

_MIB = 1024 * 1024
LIMITS = parent.Limits(seconds=10, memory_bytes=512 * _MIB, document_bytes=16 * _MIB)
BYTES_FOR_A_CHILD = 128 * 1024  # less takes no longer than to start another


def inspect(texts: Mapping[str, bytes], sizes: Mapping[str, int], chosen: Collection[str] = ()) -> dict[str, Any]:
    """The declarations of the module files among `texts`, in the shape that the package documents; raises nothing.

    `sizes` are the sizes of all files in the archive, by their paths; `chosen` as for `units.folders_of`. If the child
    fails, the document has a root unit with one warning, and `failed` is true: a publish must not fail because a page
    has no inputs.
    """
    wanted = {path: text for path, text in texts.items() if units.is_read(path)}
    known = {path: size for path, size in sizes.items() if units.is_read(path)}
    folders = units.folders_of({*wanted, *known}, chosen)
    shares = shares_of(
        folders,
        lambda folder: sum(len(wanted.get(path, b"")) for path in folder.files),
        least=BYTES_FOR_A_CHILD,
    )
    try:
        with one_file(wanted) as (file, places), ThreadPoolExecutor(len(shares)) as pool:
            return units.joined(folders, list(pool.map(partial(_read, file, places, known), shares)))
    except parent.TooExpensive as error:
        return _without("The module files were not read: reading them took", str(error))
    except (parent.CheckBroken, OSError) as error:
        return _without("The module files were not read, because Larder's reader failed:", str(error))


def _read(file: BinaryIO, places: Mapping[str, Place], sizes: Mapping[str, int], folders: list[Folder]) -> Document:
    paths = [path for folder in folders for path in folder.files]
    request = {
        "folders": [asdict(folder) for folder in folders],
        "texts": [places[path] for path in paths if path in places],
        "sizes": {path: sizes[path] for path in paths if path in sizes},
    }
    return parent.run(
        program="apps.modules.inspection.child", request=request, stdin=file, limits=LIMITS, site_packages=True
    )


def _without(words: str, cause: str) -> dict[str, Any]:
    root = Folder("", "root", ())
    return {"units": [units.empty_unit(root, [Diagnostic("", 1, 1, f"{words} {cause}")])], "failed": True}
