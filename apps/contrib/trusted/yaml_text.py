"""Writes the YAML of examples: blocks for lines, one line for short lists, and quotes where a scalar needs them.

PyYAML reads it in tests; what runs needs no more than this.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

# Not plain: an indicator at the beginning, what looks like another type, and signs that end a scalar.
_QUOTED = re.compile(
    r"""[-?:,\[\]{}#&*!|>'"%@`\s~=<.+0-9]|.*(?::(?:\s|$)|\s\#|[^\x20-\x7e]|\s$)"""
    r"""|(?:true|false|null|yes|no|on|off|y|n)$""",
    re.IGNORECASE | re.DOTALL,
)


def document(value: Mapping[str, Any]) -> str:
    return "\n".join(_lines(value, ""))


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _entry(f"{indent}{_key(key)}:", one, f"{indent}  ")
    else:
        for one in value:
            if isinstance(one, Mapping):
                first, *rest = _lines(one, f"{indent}  ")
                yield f"{indent}- {first.lstrip()}"
                yield from rest
            else:
                yield from _entry(f"{indent}-", one, f"{indent}  ")


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, str) and _is_block(value):
        yield f"{head} |"
        yield from (f"{indent}{line}" for line in value.splitlines())
    elif isinstance(value, list) and value and all(isinstance(one, str) and "\n" not in one for one in value):
        if sum(map(len, value)) < 60 and not any(" " in one for one in value):  # noqa: PLR2004  # one short line
            yield f"{head} [{', '.join(_quoted(one) for one in value)}]"
        else:
            yield head
            yield from _lines(value, indent)
    elif isinstance(value, Mapping | list):
        yield head
        yield from _lines(value, indent)
    else:
        yield f"{head} {_scalar(value)}"


def _is_block(text: str) -> bool:
    lines = text.split("\n")
    return lines.pop() == "" and all(line.isprintable() and line.strip() == line != "" for line in lines)


def _key(name: str) -> str:
    """`on` of GitHub's files is written plain, as everyone does: it is a word in YAML 1.2."""
    is_plain = re.fullmatch(r"[A-Za-z_][\w-]*", name, re.ASCII) and (name == "on" or not _QUOTED.match(name))
    return name if is_plain else _quoted(name)


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    return _quoted(value) if not value or _QUOTED.match(value) else value


def _quoted(text: str) -> str:
    """Quote the text as JSON, with the escapes of YAML for what is not printed."""
    return "".join(
        sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in json.dumps(text, ensure_ascii=False)
    )
