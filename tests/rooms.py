"""The contributions of the rooms of apps/contrib to the tests of all of Larder: files of a name, in `tests/` of each.

A room whose folder is gone, or that LARDER_WITHOUT leaves out, brings nothing.
"""

import os
import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

from registry_site.rooms import INSTALLED_ROOMS
from tests.programs import CHECKOUT

# In the order in which they are installed.
ALL = [folder for name in INSTALLED_ROOMS if (folder := CHECKOUT / "apps/contrib" / name / "tests").is_dir()]
LEFT_OUT = os.environ.get("LARDER_WITHOUT", "").replace(",", " ").split()
HERE = [folder for folder in ALL if folder.parent.name not in LEFT_OUT]
# Where one is not, documents and what is shipped in deploy/ tell of more than there is.
ARE_ALL_HERE = len(HERE) == len(INSTALLED_ROOMS)


def files(name: str) -> list[Path]:
    return [folder / name for folder in HERE if (folder / name).is_file()]


def tables(name: str) -> list[dict[str, Any]]:
    return [tomllib.loads(path.read_text()) for path in files(f"{name}.toml")]


def modules(name: str) -> list[Any]:
    found = (path.relative_to(CHECKOUT).with_suffix("") for path in files(f"{name}.py"))
    return [import_module(".".join(path.parts)) for path in found]


def contributed(name: str) -> list[Any]:
    """Return what the `house.py` of those that have it calls so."""
    return [getattr(module, name) for module in modules("house") if hasattr(module, name)]


def entries(name: str) -> list[Any]:
    """Return what they add to a list or set of the house tests."""
    return [entry for part in contributed(name) for entry in part]


def rows(name: str) -> dict[Any, Any]:
    """Return what they add to a table of the house tests."""
    return {key: row for table in contributed(name) for key, row in table.items()}


def is_gone(path: str) -> bool:
    """Tell whether its room was taken out. Documents and the landed migrations name it still."""
    room = re.search(r"\bcontrib/(\w+)/", path)
    return room is not None and not (CHECKOUT / "apps" / "contrib" / room[1]).is_dir()
