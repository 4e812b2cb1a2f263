"""Writes the file that describes this registry: `manage.py apply` changes nothing with it.

Secrets are not in it, since nothing shows them: docs/as-code.md says how to name them.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from apps.contrib.apply import calls
from apps.contrib.apply.calls import ACCOUNT
from apps.contrib.apply.document import Entry, shapes_of
from apps.contrib.apply.reading import Block, Row, blocks, kinds
from apps.room import Described

HEAD = "# What `manage.py export` found. Secrets are missing: docs/as-code.md says how to name them.\n"


def text_here() -> Iterator[str]:
    """Yield the file of this registry in parts. What is as Larder makes it is left out."""
    yield HEAD
    is_empty = True
    for kind in kinds():
        is_first = True
        for rows in blocks(row for _, row in kind.read(None)):
            found = [one for one in _described(kind, rows) if one]
            if found:
                text = yaml.dump(found, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=120)
                yield f"{kind.word}:\n{text}" if is_first else text
                is_first = is_empty = False
    if is_empty:
        yield "{}\n"


def _described(kind: Described, rows: list[Row]) -> Iterator[Any]:
    """Yield an entry for each of the rows of a kind that nothing contains."""
    inner = kinds(kind.word)
    names = [_name(kind, row)[1] for row in rows]
    here = Block([*names, ""])
    usual = {child.word: here.take(child, "") for child in inner if child.is_only}  # of a name that there is not
    for name, row in zip(names, rows, strict=True):
        one = _one(kind, (), row)
        if one is None:
            continue
        for child in inner:
            own = here.take(child, name)
            if own == usual.get(child.word):
                continue
            if found := [said for fields in own if (said := _one(child, (name,), fields))]:
                one[child.word] = found[0] if child.is_only else found
        yield one


def _name(kind: Described, row: Row) -> tuple[str, str]:
    """Return the field that names it, and its name."""
    by = "" if kind.is_numbered or kind.is_only else next((name for name in kind.one if row.get(name)), "")
    return by, str(row.get(by, ""))


def _one(kind: Described, parents: tuple[str, ...], row: Row) -> Row | None:
    by, name = _name(kind, row)
    if name == ACCOUNT:
        return None
    return ({by: name} if by else {}) | _fields(Entry(kind, kind.word, parents, name, by, {}), row)


def _fields(entry: Entry, row: Row) -> Row:
    written = {word: field for shape in shapes_of(entry) for word, field in calls.blank(shape).fields.items()}
    return {
        word: _without_more(field, row[word])
        for word, field in sorted(written.items())
        if word not in entry.kind.secrets and word in row and (field.required or row[word] not in (None, "", [], {}))
    }


def _without_more(field: Any, value: Any) -> Any:
    """Leave out of a list of maps what the call does not take: answers say more of each."""
    known = getattr(getattr(field, "child", None), "fields", None)
    if known is None or not isinstance(value, list):
        return value
    return [{name: one[name] for name in one if name in known and one[name] not in (None, "", [])} for one in value]
