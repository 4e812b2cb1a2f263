"""Examples and READMEs in this registry's address: what they call by a local path or from elsewhere, they call here."""

import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from apps.lib.addresses import ModuleAddress
from apps.modules.contents import files
from apps.modules.models import ModuleVersion

MAX_FILES = 20
MAX_BYTES = 64 * 1024
SUFFIXES = (".tf", ".tofu", ".tfvars")
_SOURCE = re.compile(r'(?P<indent>[ \t]*)source(?P<space>[ \t]*)=[ \t]*"(?P<path>\.{1,2}(?:/[^"$%]*)?)"(?P<rest>.*)')
# A source in a configuration, or in one that a README shows: rendered, with or without colours. It begins with plain
# letters and looks back afterwards: most of a long README is skipped a hundred times as fast.
_WRITTEN = (
    r'(?P<head>source(?<!\wsource)(?:</span>)?[ \t]*=[ \t]*(?:<span class="[\w -]+">)*(?:"|&quot;))'
    r'(?P<found>(?i:(?:[\w.:-]+/)?[\w-]+/{}/{}))(?=//|"|&quot;)'
)
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


def ready(version: ModuleVersion, unit: Mapping[str, Any], *, sources: Mapping[str, str], own: str) -> Ready:
    """`unit` is an example's part of the inspection, `sources` the registry's source of each folder, "" for the root.

    `own` is the registry's source of the module. Reads storage. Raises Unavailable if it fails.
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
        text = rewritten(text, heads, unit["path"], sources, version.release.version)
        found.append(ReadyFile(last, readdressed(text, version.module.address, own)))
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


def readdressed(text: str, address: ModuleAddress, own: str, *, mark: str = "{}") -> str:
    """Replace the module's address in another registry by `own`, its source in this one.

    An address with the same name and system is taken for the module's, in any namespace of any registry. `text` is a
    configuration, or a rendered README; `mark` is the HTML around what was replaced. Constraints of versions stay: a
    module keeps its numbers when it moves.
    """
    pattern = re.compile(_WRITTEN.format(re.escape(address.name), re.escape(address.system)))

    def written(found: re.Match[str]) -> str:
        return found[0] if found["found"] == own else found["head"] + mark.format(own)

    return pattern.sub(written, text)
