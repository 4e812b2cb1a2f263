"""Writes the file that describes this registry: `manage.py apply` changes nothing with it.

Secrets are not in it, since nothing shows them: a comment names each that must be given where it is applied.
"""

from typing import Any

import yaml

from apps.contrib.apply import calls
from apps.contrib.apply.calls import ACCOUNT, Calls
from apps.contrib.apply.document import Entry, kinds, shapes_of, urls_of
from apps.contrib.apply.planning import inner
from apps.room import Described

HEAD = "# What `manage.py export` found. Secrets are missing: docs/as-code.md says how to name them.\n"


def text(by: Calls) -> str:
    """Return the file. What is as Larder makes it is left out."""
    return HEAD + yaml.safe_dump(_level(by, "", (), {}), sort_keys=False, allow_unicode=True, width=120)


def text_here() -> str:
    """Return the file of this registry."""
    return text(Calls(calls.operator()))


def _level(by: Calls, within: str, parents: tuple[str, ...], above: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in kinds(within):
        rows = [described for row in _rows(by, kind, parents, above) if (described := _one(by, kind, parents, row))]
        if rows:
            found[kind.word] = rows[0] if kind.is_only else rows
    return found


def _rows(by: Calls, kind: Described, parents: tuple[str, ...], above: dict[str, Any]) -> list[dict[str, Any]]:
    if kind.is_only:
        return [by.get(calls.address(kind.one[""], *parents)) or {}]
    if kind.rows.startswith("."):
        return inner(kind, above)
    return [dict(kind.fields_of(row)) for row in by.rows(calls.address(kind.rows, *parents))]


def _one(by: Calls, kind: Described, parents: tuple[str, ...], row: dict[str, Any]) -> Any:
    field = "" if kind.is_numbered or kind.is_only else next((name for name in kind.one if row.get(name)), "")
    name = str(row.get(field, "")) if field else ""
    if name == ACCOUNT or not row:
        return None
    entry = Entry(kind, kind.word, parents, name, field, {})
    one, _ = urls_of(entry, str(row.get("id", "0")))
    whole = row
    if calls.has(one, "GET") and not kind.is_only:
        whole = dict(kind.fields_of(by.get(one) or row))
    written = {word: taken for shape in shapes_of(entry) for word, taken in calls.fields_in(shape).items()}
    fields = {
        word: whole[word]
        for word, taken in sorted(written.items())
        if word not in kind.secrets and word in whole and (taken.required or whole[word] not in (None, "", [], {}))
    }
    fields = {word: _without_more(entry, word, value) for word, value in fields.items()}
    found = ({field: name} if field else {}) | fields
    return found | _level(by, kind.word, (*parents, name), whole)


def _without_more(entry: Entry, word: str, value: Any) -> Any:
    """Leave out of a list of maps what the call does not take: answers say more of each."""
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return value
    shape = next(shape for shape in shapes_of(entry) if word in calls.fields_in(shape))
    child = getattr(calls.fields_in(shape)[word], "child", None)
    known = getattr(child, "fields", None)
    if known is None:
        return value
    return [{name: one[name] for name in one if name in known and one[name] not in (None, "", [])} for one in value]
