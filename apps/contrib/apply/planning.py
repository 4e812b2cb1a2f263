"""Compares what a file describes with what the registry has, and makes the difference true.

Nothing that the file does not name changes, unless `prune` names its kind. What a person changed by hand is a
difference like any other. A plan is the same run, and its transaction is rolled back: so it refuses what a run refuses.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from apps.contrib.apply.calls import ACCOUNT, Calls, Refused, address, has, names_in, takes
from apps.contrib.apply.document import Document, Entry, kinds, urls_of
from apps.contrib.apply.models import SentSecret
from apps.lib.errors import Invalid
from apps.room import Described

ADD, CHANGE, REMOVE = "+", "~", "-"
LONGEST = 60  # characters of a value in a plan
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    sign: str
    what: str
    fields: tuple[str, ...] = ()
    shown_once: str = ""  # a secret that no later answer has

    def __str__(self) -> str:
        return f"{self.sign} {self.what}" + (f": {', '.join(self.fields)}" if self.fields else "")


class Rows:
    """The rows of a kind in one place. They are read once, and never for a kind that the file does not describe."""

    def __init__(self, kind: Described, read: Callable[[], list[Row]]) -> None:
        self.kind, self._read = kind, read
        self._claimed: set[int] = set()

    @cached_property
    def all(self) -> list[Row]:
        return self._read()

    @cached_property
    def _by_value(self) -> dict[tuple[str, str], list[Row]]:
        """The rows by each field that names one, or by which a numbered one is found again."""
        found = defaultdict(list)
        for row in self.all:
            for name in self.kind.identity or self.kind.one:
                found[name, str(row.get(name)).strip()].append(row)
        return found

    def named(self, by: str, name: str) -> Row | None:
        return next(iter(self._by_value.get((by, name), [])), None)

    def claim(self, entry: Entry) -> Row | None:
        """Return the numbered row that this entry describes, which no other entry has then.

        Of several, such as two webhooks to one URL, the one in which nothing differs.
        """
        names = [name for name in self.kind.identity if name in entry.fields]
        alike = self._by_value.get((names[0], str(entry.fields[names[0]]).strip()), []) if names else self.all
        free = [row for row in alike if row and id(row) not in self._claimed]
        same = [row for row in free if _are(entry, row, set(names or entry.fields))]
        found = next((row for row in same if _are(entry, row, entry.fields.keys() - set(self.kind.secrets))), None)
        if found is None and same:
            found = same[0]
        if found is not None:
            self._claimed.add(id(found))
        return found

    def is_claimed(self, row: Row) -> bool:
        return id(row) in self._claimed


class Run:
    """One comparison. Each difference is made true before the next is looked for."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.prune: frozenset[str] = frozenset()
        self._later: list[Iterator[Step]] = []

    def steps(self, document: Document) -> Iterator[Step]:
        """Yield each difference. Raises Invalid with its place where the registry refuses one."""
        self.prune = document.prune
        yield from self._level(document.entries, "", (), None, document.words)
        while self._later:
            yield from self._later.pop(0)

    def _level(
        self,
        entries: list[Entry],
        within: str,
        parents: tuple[str, ...],
        above: Row | None,
        words: frozenset[str],
    ) -> Iterator[Step]:
        for kind in kinds(within):
            found = self._kind(kind, [entry for entry in entries if entry.kind is kind], parents, above, words)
            if kind.own_first:
                self._later.append(found)
            else:
                yield from found

    def _kind(
        self,
        kind: Described,
        own: list[Entry],
        parents: tuple[str, ...],
        above: Row | None,
        words: frozenset[str],
    ) -> Iterator[Step]:
        rows = Rows(kind, lambda: self._rows(kind, parents, above))
        if is_pruned := kind.word in self.prune and kind.word in words:
            _ = rows.all  # as it was before
        for entry in own:
            yield from self._entry(entry, rows, above)
        if is_pruned:
            yield from self._removed(own, rows, parents)

    def _entry(self, entry: Entry, rows: Rows, above: Row | None) -> Iterator[Step]:
        try:
            current = self._current(entry, rows, above)
            yield from self._difference(entry, current)
            seen = current
            if current is None and (entry.inner or entry.words):
                seen = self._current(entry, rows, above)  # what contains others is there by now
            yield from self._level(entry.inner, entry.kind.word, (*entry.parents, entry.name), seen, entry.words)
        except Refused as refused:
            raise Invalid(f"{entry.place}: {refused}", hint=f"{refused.hint} Nothing was changed.".strip()) from None

    def _current(self, entry: Entry, rows: Rows, above: Row | None) -> Row | None:
        kind = entry.kind
        if entry.parents and above is None:
            return None
        if kind.is_numbered:
            return rows.claim(entry)
        one, _ = urls_of(entry)
        if kind.rows.startswith(".") or not has(one, "GET"):
            return rows.named(entry.by, entry.name)
        found = self.calls.get(one)
        return None if found is None else dict(kind.fields_of(found))

    def _rows(self, kind: Described, parents: tuple[str, ...], above: Row | None) -> list[Row]:
        if parents and above is None:
            return []
        if kind.rows.startswith("."):
            return inner(kind, above)
        return [dict(kind.fields_of(row)) for row in self.calls.rows(address(kind.rows, *parents))]

    def _difference(self, entry: Entry, current: Row | None) -> Iterator[Step]:
        wanted, secrets = entry.fields, _secrets(entry)
        if current is None:
            fields = tuple(f"{name} {_shown(entry, name, value)}" for name, value in wanted.items())
            yield Step(ADD, entry.label, fields, self._made(entry))
            return
        changed = [name for name, value in wanted.items() if name not in secrets and not _is(value, current.get(name))]
        changed += [name for name in secrets if not SentSecret.is_known(entry.label, name, secrets[name])]
        if not changed:
            return
        self._change(entry, current, changed)
        fields = tuple(
            f"{name} {_text(current.get(name))} → {_shown(entry, name, wanted[name])}"
            if name not in secrets
            else f"{name} changes"
            for name in changed
        )
        yield Step(CHANGE, entry.label, fields)

    def _made(self, entry: Entry) -> str:
        one, rows = urls_of(entry, "0")
        shape = takes(one, "PUT") if not entry.kind.is_numbered else None
        if entry.kind.is_numbered or (shape is None and not has(one, "PUT")):
            shape = takes(rows, "POST")
            answer = self.calls.ask("POST", rows, _of_shape(shape, entry.fields))
            if entry.kind.is_numbered:
                one, _ = urls_of(entry, str(answer["id"]))
                self._patch(one, entry.fields, beside=shape)
        else:
            answer = self.calls.ask("PUT", one, _of_shape(shape, entry.fields))
            self._patch(one, entry.fields, beside=shape)
        self._remember(entry)
        return str(answer.get("secret") or "")

    def _change(self, entry: Entry, current: dict[str, Any], changed: list[str]) -> None:
        one, _ = urls_of(entry, str(current.get("id", "")))
        if entry.kind.is_numbered:
            unable = [name for name in changed if not _takes_field(one, "PATCH", name)]
            if unable:
                raise Invalid(
                    f"{entry.place}: {', '.join(unable)} cannot be changed.",
                    hint="Remove it, and apply the file again.",
                )
            self.calls.ask("PATCH", one, {name: entry.fields[name] for name in changed})
        else:
            shape = takes(one, "PUT")
            if shape is None or any(name in names_in(shape) for name in changed):
                # A PUT says all that it takes.
                kept = {
                    name: current[name] for name in (names_in(shape) if shape else ()) if current.get(name) is not None
                }
                self.calls.ask("PUT", one, _of_shape(shape, kept | entry.fields))
            self._patch(one, {name: entry.fields[name] for name in changed}, beside=shape)
        self._remember(entry)

    def _patch(self, one: str, fields: dict[str, Any], *, beside: Any) -> None:
        """Send what only PATCH takes."""
        rest = {name: value for name, value in fields.items() if beside is None or name not in names_in(beside)}
        if rest and has(one, "PATCH"):
            self.calls.ask("PATCH", one, rest)

    def _remember(self, entry: Entry) -> None:
        for name, value in _secrets(entry).items():
            SentSecret.remember(entry.label, name, value)

    def _removed(self, own: list[Entry], rows: Rows, parents: tuple[str, ...]) -> Iterator[Step]:
        kind = rows.kind
        named = {(entry.by, entry.name.casefold()) for entry in own}
        for row in rows.all:
            by = next((name for name in kind.one if row.get(name)), "")
            name = str(row.get(by, ""))
            if not by or name == ACCOUNT:
                continue  # the operator stays the owner of what it made
            if rows.is_claimed(row) or (not kind.is_numbered and (by, name.casefold()) in named):
                continue
            entry = Entry(
                kind, kind.word, parents, "" if kind.is_numbered else name, "" if kind.is_numbered else by, {}
            )
            one, _ = urls_of(entry, name)
            shown = next((str(row[key]) for key in (*kind.identity, "url", "name", "kind") if row.get(key)), name)
            self.calls.ask("DELETE", one)
            yield Step(REMOVE, entry.label if not kind.is_numbered else f"{entry.label}: {shown}")


# --- Fields -----------------------------------------------------------------------------------------------------------


def _are(entry: Entry, row: Row, names: Collection[str]) -> bool:
    return all(_is(entry.fields[name], row.get(name)) for name in names if name in entry.fields)


def _is(wanted: Any, current: Any) -> bool:
    """Return whether a field has this value. What the file leaves out of a map or a list's entry does not count."""
    if isinstance(wanted, dict):
        return isinstance(current, dict) and all(_is(value, current.get(name)) for name, value in wanted.items())
    if isinstance(wanted, list):
        is_list = isinstance(current, list) and len(wanted) == len(current)
        if is_list and not any(isinstance(one, dict | list) for one in wanted):
            return sorted(map(str, wanted)) == sorted(map(str, current))
        return is_list and all(_is(one, other) for one, other in zip(wanted, current, strict=True))
    if isinstance(wanted, str) and isinstance(current, str):
        return wanted.strip() == current.strip()  # the API trims, and a block of YAML ends in a new line
    # 0 is not null, which is the registry's default.
    return bool(
        wanted == current
        or ((current in (None, "", {}, []) and wanted in ("", {}, [])) or (wanted is False and current is None))
    )


def inner(kind: Described, above: Row | None) -> list[Row]:
    """The rows that the document of what contains them has; a namespace in it is called by its name."""
    rows = (above or {}).get(kind.rows[1:], [])
    own = next(iter(kind.one))
    return [{**row, own: row.get(own, row.get("name"))} for row in rows]


def _secrets(entry: Entry) -> dict[str, str]:
    return {name: json.dumps(entry.fields[name]) for name in entry.kind.secrets if name in entry.fields}


def _of_shape(shape: Any, fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if shape is not None and name in names_in(shape)}


def _takes_field(url: str, method: str, name: str) -> bool:
    shape = takes(url, method)
    return shape is not None and name in names_in(shape)


def _shown(entry: Entry, name: str, value: Any) -> str:
    return "(secret)" if name in entry.kind.secrets else _text(value)


def _text(value: Any) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{text[:LONGEST]}…" if len(text) > LONGEST else text or '""'
