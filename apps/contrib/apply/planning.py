"""Compares what a file describes with what the registry has, and makes the difference true.

Nothing that the file does not name changes, unless `prune` names its kind. What a person changed by hand is a
difference like any other.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import transaction

from apps.contrib.apply.calls import ACCOUNT, Calls, Refused, address, has, names_in, takes
from apps.contrib.apply.document import Document, Entry, kinds, urls_of
from apps.contrib.apply.models import SentSecret
from apps.lib.errors import Invalid
from apps.room import Described

ADD, CHANGE, REMOVE = "+", "~", "-"
LONGEST = 60  # characters of a value in a plan
# Read the list of a kind, once.
Rows = Callable[[], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Step:
    sign: str
    what: str
    fields: tuple[str, ...] = ()
    shown_once: str = ""  # a secret that no later answer has

    def __str__(self) -> str:
        return f"{self.sign} {self.what}" + (f": {', '.join(self.fields)}" if self.fields else "")


class Run:
    """One comparison. With `acts` each difference is made true before the next is looked for."""

    def __init__(self, calls: Calls, *, acts: bool) -> None:
        self.calls, self.acts = calls, acts
        self.prune: frozenset[str] = frozenset()
        self._later: list[Iterator[Step]] = []

    def steps(self, document: Document) -> Iterator[Step]:
        """Yield each difference. Raises Invalid with its place where the registry refuses one."""
        self.prune = document.prune
        yield from self._level(document.entries, "", (), None, document.words)
        while self._later:
            yield from self._whole(self._later.pop(0))

    def _whole(self, steps: Iterator[Step]) -> Iterator[Step]:
        """Do all of these or none: what is not known to be valid before is refused by a verb."""
        if not self.acts:
            yield from steps
            return
        with transaction.atomic():
            done = list(steps)
        yield from done

    def _level(
        self,
        entries: list[Entry],
        within: str,
        parents: tuple[str, ...],
        above: dict[str, Any] | None,
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
        above: dict[str, Any] | None,
        words: frozenset[str],
    ) -> Iterator[Step]:
        # At most once for all of them, and never for a kind that the file does not describe here.
        rows = cache(lambda: self._rows(kind, parents, above))
        if is_pruned := kind.word in self.prune and kind.word in words:
            rows()  # as it was before
        for entry in own:
            found = self._entry(entry, rows, above)
            yield from found if parents else self._whole(found)
        if is_pruned:
            yield from self._removed(kind, own, rows(), parents)

    def _entry(self, entry: Entry, rows: Rows, above: dict[str, Any] | None) -> Iterator[Step]:
        try:
            current = self._current(entry, rows, above)
            yield from self._difference(entry, current)
            seen = current
            if current is None and self.acts and (entry.inner or entry.words):
                seen = self._current(entry, rows, above)  # what contains others is there by now
            yield from self._level(entry.inner, entry.kind.word, (*entry.parents, entry.name), seen, entry.words)
        except Refused as refused:
            raise self._refused(entry, refused) from None

    def _refused(self, entry: Entry, refused: Refused) -> Invalid:
        top = entry.place.partition(".")[0]
        kept = f"Nothing of {top} was changed; what comes before it was." if self.acts else ""
        return Invalid(f"{entry.place}: {refused}", hint=f"{refused.hint} {kept}".strip())

    def _current(self, entry: Entry, rows: Rows, above: dict[str, Any] | None) -> dict[str, Any] | None:
        kind = entry.kind
        if entry.parents and above is None:
            return None
        if kind.is_numbered:
            return next((row for row in rows() if _is_same(entry, row)), None)
        if kind.rows.startswith("."):
            return next((row for row in inner(kind, above) if row.get(entry.by) == entry.name), None)
        one, _ = urls_of(entry)
        if not has(one, "GET"):
            return next((row for row in rows() if row.get(entry.by) == entry.name), None)
        found = self.calls.get(one)
        return None if found is None else dict(kind.fields_of(found))

    def _rows(self, kind: Described, parents: tuple[str, ...], above: dict[str, Any] | None) -> list[dict[str, Any]]:
        if parents and above is None:
            return []
        if kind.rows.startswith("."):
            return inner(kind, above)
        return [dict(kind.fields_of(row)) for row in self.calls.rows(address(kind.rows, *parents))]

    def _difference(self, entry: Entry, current: dict[str, Any] | None) -> Iterator[Step]:
        wanted, secrets = entry.fields, _secrets(entry)
        if current is None:
            fields = tuple(f"{name} {_shown(entry, name, value)}" for name, value in wanted.items())
            yield Step(ADD, entry.label, fields, self._made(entry) if self.acts else "")
            return
        changed = [name for name, value in wanted.items() if name not in secrets and not _is(value, current.get(name))]
        changed += [name for name in secrets if not SentSecret.is_known(entry.label, name, secrets[name])]
        if not changed:
            return
        if self.acts:
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

    def _removed(
        self, kind: Described, own: list[Entry], rows: list[dict[str, Any]], parents: tuple[str, ...]
    ) -> Iterator[Step]:
        for row in rows:
            by = next((name for name in kind.one if row.get(name)), "")
            name = str(row.get(by, ""))
            if not by or name == ACCOUNT:
                continue  # the operator stays the owner of what it made
            if any(
                _is_same(entry, row)
                if kind.is_numbered
                else entry.by == by and entry.name.casefold() == name.casefold()
                for entry in own
            ):
                continue
            entry = Entry(
                kind, kind.word, parents, "" if kind.is_numbered else name, "" if kind.is_numbered else by, {}
            )
            one, _ = urls_of(entry, name)
            shown = next((str(row[key]) for key in (*kind.identity, "url", "name", "kind") if row.get(key)), name)
            if self.acts:
                self.calls.ask("DELETE", one)
            yield Step(REMOVE, entry.label if not kind.is_numbered else f"{entry.label}: {shown}")


def _is_same(entry: Entry, row: dict[str, Any]) -> bool:
    """Return whether this numbered row is what the entry describes."""
    names = [name for name in entry.kind.identity if name in entry.fields] or list(entry.fields)
    return bool(row) and all(_is(entry.fields[name], row.get(name)) for name in names)


# --- Fields -----------------------------------------------------------------------------------------------------------


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


def inner(kind: Described, above: dict[str, Any] | None) -> list[dict[str, Any]]:
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
