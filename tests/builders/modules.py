"""Three modules as a team would write them, each in three versions: `network("1.1.0")` gives `{path: bytes}`.

Their files are in `tests/builders/sources/`. There `#: since 1.1.0` or `#: until 1.0.0` says from or up to which
version the lines to the next `#: end` are part of the module, and `@VERSION@` stands for the version.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

HISTORY = ("1.0.0", "1.1.0", "2.0.0")

_SOURCES = Path(__file__).parent / "sources"
_MARK = re.compile(r"#: (?:end|(?P<which>since|until) (?P<bound>[\d.]+))\n")


def network(version: str = "1.0.0") -> dict[str, bytes]:
    """A network for AWS: 35 inputs, 25 outputs, three submodules, three examples."""
    return _module("network", version)


def kubernetes(version: str = "1.0.0") -> dict[str, bytes]:
    """A Kubernetes cluster for AWS: deep object types, submodules for nodes, Fargate and access."""
    return _module("kubernetes", version)


def label(version: str = "1.0.0") -> dict[str, bytes]:
    """Names and tags: one context object, many locals, no resources in its root."""
    return _module("label", version)


def picture(width: int = 64, height: int = 32) -> bytes:
    """A PNG of one colour."""
    rows = (b"\x00" + b"\x22\x55\xaa" * width) * height
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _module(name: str, version: str) -> dict[str, bytes]:
    if version not in HISTORY:
        raise ValueError(f"{name} has the versions {', '.join(HISTORY)}, not {version}")
    folder = _SOURCES / name
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    texts = {path.relative_to(folder).as_posix(): _of(version, path.read_text()) for path in paths}
    return {path: text.encode() for path, text in texts.items()} | {"docs/diagram.png": picture()}


def _of(version: str, text: str) -> str:
    return "".join(_kept(version, text)).replace("@VERSION@", version)


def _kept(version: str, text: str) -> Iterator[str]:
    """The lines that belong to the version."""
    keeps = True
    for line in text.splitlines(keepends=True):
        mark = _MARK.fullmatch(line)
        if mark is None:
            if keeps:
                yield line
        elif mark["bound"] is None:
            keeps = True
        else:
            order, bound = HISTORY.index(version), HISTORY.index(mark["bound"])
            keeps = order >= bound if mark["which"] == "since" else order <= bound
