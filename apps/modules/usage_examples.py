"""An example as a configuration of its own: what it calls by a local path, it calls from this registry."""

import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from apps.modules.contents import files
from apps.modules.models import ModuleVersion

MAX_FILES = 20
MAX_BYTES = 64 * 1024
SUFFIXES = (".tf", ".tofu", ".tfvars")
_SOURCE = re.compile(r'(?P<indent>[ \t]*)source(?P<space>[ \t]*)=[ \t]*"(?P<path>\.{1,2}(?:/[^"$%]*)?)"(?P<rest>.*)')
# Lines between the head of a module block and its source.
_NEAR = 200


@dataclass(frozen=True, slots=True)
class ReadyFile:
    """`problem` says why there is no text."""

    name: str
    text: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """`others` has files of the example that are not shown."""

    files: list[ReadyFile]
    others: list[str]


def ready(version: ModuleVersion, unit: Mapping[str, Any], *, sources: Mapping[str, str]) -> Ready:
    """`unit` is an example's part of the inspection, `sources` the registry's source of each folder, "" for the root.

    Reads storage. Raises Unavailable if it fails.
    """
    prefix = f"{unit['path']}/"
    names = [row["name"] for row in version.files if row["name"].startswith(prefix)]
    shown = [name for name in names if "/" not in name[len(prefix) :] and name.endswith(SUFFIXES)][:MAX_FILES]
    found = []
    for name in shown:
        last = name.rpartition("/")[2]
        entry = files.entry_at(version, name)
        if entry is None or entry.at is None or entry.size > MAX_BYTES:
            found.append(ReadyFile(last, problem="This file is too large to show here."))
            continue
        text = files.text_of(files.read_file(version, name, most=MAX_BYTES), is_cut=False)
        if text is None:
            found.append(ReadyFile(last, problem="This file is not text."))
            continue
        heads = [call["line"] for call in unit["calls"] if call["file"] == name]
        found.append(ReadyFile(last, rewritten(text, heads, unit["path"], sources, version.release.version)))
    return Ready(found, [name[len(prefix) :] for name in names if name not in shown])


def rewritten(text: str, heads: Collection[int], folder: str, sources: Mapping[str, str], version: str) -> str:
    """`heads` are the lines on which module blocks begin."""
    lines = text.replace("\r\n", "\n").split("\n")
    for head in heads:
        for position in range(head - 1, min(head - 1 + _NEAR, len(lines))):
            found = _SOURCE.fullmatch(lines[position])
            if found is None:
                continue
            # A folder of the archive; one outside begins with `..`.
            called = posixpath.normpath(posixpath.join(folder, found["path"]))
            source = sources.get("" if called == "." else called, "")
            if source:
                align = " " * max(len(found["space"]), 2)
                lines[position] = (
                    f'{found["indent"]}source{align}= "{source}"{found["rest"]}\n'
                    f'{found["indent"]}version{align[1:]}= "{version}"'
                )
            break
    return "\n".join(lines)
