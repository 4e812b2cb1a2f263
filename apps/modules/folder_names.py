"""The folders of an archive that a publisher names: none for all of it, one that is the module, or several in one
version.

`Release.folder` has several one per line, in order. Each is published at its own path, and nothing beside them.
"""

from collections.abc import Collection, Sequence
from itertools import pairwise
from posixpath import normpath

from apps.lib.errors import Invalid

MAX_CHARACTERS = 300  # of a folder
MAX_TOTAL_CHARACTERS = 4_000  # of all of them: the column's length
MAX_SHOWN = 8


def clean_folder(folder: str) -> str:
    """The folder in the form of member names: no slash at either end. Raises Invalid."""
    cleaned = folder.strip().strip("/").removeprefix("./")
    if len(cleaned) > MAX_CHARACTERS or not {"\0", "\n"}.isdisjoint(cleaned) or ".." in cleaned.split("/"):
        raise Invalid(
            f"found the folder {folder[:80]!r}, expected a path inside the archive such as modules/vpc",
            hint="Write it as in the archive, without a leading slash.",
        )
    return "" if cleaned == "." else cleaned


def clean_folders(folders: Sequence[str]) -> str:
    """Return the folders in the form of `Release.folder`; the same folders in another order are equal. Raises
    Invalid.
    """
    if len(folders) <= 1:
        return clean_folder(folders[0]) if folders else ""
    paths = sorted((normpath(clean_folder(folder)) for folder in folders), key=lambda path: path.split("/"))
    whole = {".": "the root", "*": "*"}
    for path in paths:
        if path in whole:
            raise Invalid(
                f"found {whole[path]} among {len(paths)} folders, expected folders inside the archive",
                hint="Name each folder with ?folder=…, or send ?folder=* alone for all of the archive.",
            )
    for above, path in pairwise(paths):
        if path == above:
            raise Invalid(f"found the folder {path[:80]!r} twice, expected each folder once", hint="List it once.")
        if path.startswith(f"{above}/"):
            raise Invalid(
                f"found the folder {path[:80]!r} inside of {above[:80]!r}, expected folders beside each other",
                hint="List only the outer folder: it is published with everything in it.",
            )
    text = "\n".join(paths)
    if len(text) > MAX_TOTAL_CHARACTERS:
        raise Invalid(
            f"found {len(paths)} folders with {len(text)} characters, expected at most {MAX_TOTAL_CHARACTERS} in total",
            hint="Name a folder that contains several of them, or publish all of the archive (in a script: ?folder=*).",
        )
    return text


def outermost(folders: Collection[str]) -> list[str]:
    """Without those inside of another one: that is published with everything in it."""
    return [folder for folder in folders if not any(folder.startswith(f"{above}/") for above in folders)]


def shown(folder: str) -> str:
    folders = folder.split("\n")
    more = f" and {len(folders) - MAX_SHOWN} more" if len(folders) > MAX_SHOWN else ""
    return f"{', '.join(folders[:MAX_SHOWN])}{more}" if folder else "the whole"


def several(folder: str) -> tuple[str, ...]:
    """The folders of a release that has more than one, else none."""
    return tuple(folder.split("\n")) if "\n" in folder else ()
