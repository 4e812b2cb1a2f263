"""Compares what a file describes with what the registry has, and makes the difference true.

Nothing that the file does not name changes, unless `prune` names its kind. What a person changed by hand is a
difference like any other. A plan is the same run, and its transaction is rolled back: so it refuses what a run refuses.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from apps.contrib.apply.calls import ACCOUNT, Calls, Refused, names_in
from apps.contrib.apply.document import Document, Entry, urls_of
from apps.contrib.apply.models import SentSecret
from apps.contrib.apply.reading import Block, Row, blocks, kinds
from apps.lib.errors import Invalid
from apps.room import Described

ADD, CHANGE, REMOVE = "+", "~", "-"
LONGEST = 60  # characters of a value in a plan


@dataclass(frozen=True, slots=True)
class Step:
    sign: str
    what: str
    fields: tuple[str, ...] = ()
    shown_once: str = ""  # a secret that no later answer has

    def __str__(self) -> str:
        return f"{self.sign} {self.what}" + (f": {', '.join(self.fields)}" if self.fields else "")


class Rows:
    """The rows of a kind in one place. A kind that the file does not describe there is not read."""

    def __init__(self, kind: Described, rows: list[Row]) -> None:
        self.kind, self.all = kind, rows
        self._claimed: set[int] = set()

    @cached_property
    def _by_value(self) -> dict[tuple[str, str], list[Row]]:
        """The rows by each field that names one, or by which a numbered one is found again."""
        found = defaultdict(list)
        for row in self.all:
            for name in self.kind.identity or self.kind.one:
                found[name, str(row.get(name)).strip()].append(row)
        return found

    def of(self, entry: Entry) -> Row | None:
        if self.kind.is_numbered:
            return self._claim(entry)
        rows = self.all if self.kind.is_only else self._by_value.get((entry.by, entry.name), [])
        return rows[0] if rows else None

    def _claim(self, entry: Entry) -> Row | None:
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
        self._kinds = cache(kinds)  # thousands of entries ask
        self._later: list[Iterator[Step]] = []

    @cached_property
    def _sent(self) -> dict[str, str]:
        return SentSecret.digests()

    def steps(self, document: Document) -> Iterator[Step]:
        """Yield each difference. Raises Invalid with its place where the registry refuses one."""
        self.prune = document.prune
        for kind in kinds():
            if kind.word not in document.words:
                continue
            own = [entry for entry in document.entries if entry.kind is kind]
            for some in [own] if kind.is_numbered else blocks(own):
                names = [""] if kind.is_numbered else [entry.name for entry in some]
                here = Block(names)
                rows = Rows(kind, [row for name in names for row in here.take(kind, name)])
                for entry in some:
                    yield from self._entry(entry, rows, here)
            if self._is_pruned(kind, document.words):
                if not kind.is_numbered:
                    rows = Rows(kind, [{name: row.get(name) for name in kind.one} for _, row in kind.read(None)])
                yield from self._removed(own, rows, ())
        while self._later:
            yield from self._later.pop(0)

    def _within(self, entry: Entry, here: Block) -> Iterator[Step]:
        for kind in self._kinds(entry.kind.word):
            if kind.word not in entry.words:
                continue
            found = self._kind(kind, entry, here)
            if kind.own_first:
                self._later.append(found)
            else:
                yield from found

    def _kind(self, kind: Described, above: Entry, here: Block) -> Iterator[Step]:
        own = [entry for entry in above.inner if entry.kind is kind]
        rows = Rows(kind, here.take(kind, above.name))
        for entry in own:
            yield from self._entry(entry, rows, here)
        if self._is_pruned(kind, above.words):
            yield from self._removed(own, rows, (*above.parents, above.name))

    def _is_pruned(self, kind: Described, words: frozenset[str]) -> bool:
        return kind.word in self.prune and kind.word in words

    def _entry(self, entry: Entry, rows: Rows, here: Block) -> Iterator[Step]:
        try:
            current = rows.of(entry)
            yield from self._difference(entry, current)
            yield from self._within(entry, here if current is not None else Block([entry.name]))
        except Refused as refused:
            raise Invalid(f"{entry.place}: {refused}", hint=f"{refused.hint} Nothing was changed.".strip()) from None

    def _difference(self, entry: Entry, current: Row | None) -> Iterator[Step]:
        wanted, secrets = entry.fields, _secrets(entry)
        if current is None:
            fields = tuple(f"{name} {_shown(entry, name, value)}" for name, value in wanted.items())
            yield Step(ADD, entry.label, fields, self._made(entry))
            return
        changed = [name for name, value in wanted.items() if name not in secrets and not _is(value, current.get(name))]
        changed += [name for name in secrets if not SentSecret.is_known(self._sent, entry.label, name, secrets[name])]
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
        if entry.kind.is_numbered:
            shape = entry.takes("POST")
            answer = self.calls.ask("POST", rows, _of_shape(shape, entry.fields))
            one, _ = urls_of(entry, str(answer["id"]))
        else:
            shape = entry.takes("PUT")
            answer = self.calls.ask("PUT", one, _of_shape(shape, entry.fields))
        self._patch(entry, one, entry.fields, beside=shape)
        self._remember(entry)
        return str(answer.get("secret") or "")

    def _change(self, entry: Entry, current: dict[str, Any], changed: list[str]) -> None:
        one, _ = urls_of(entry, str(current.get("id", "")))
        if entry.kind.is_numbered:
            unable = [name for name in changed if not _has_field(entry.takes("PATCH"), name)]
            if unable:
                raise Invalid(
                    f"{entry.place}: {', '.join(unable)} cannot be changed.",
                    hint="Remove it, and apply the file again.",
                )
            self.calls.ask("PATCH", one, {name: entry.fields[name] for name in changed})
        else:
            shape = entry.takes("PUT")
            if shape is None or any(_has_field(shape, name) for name in changed):
                # A PUT says all that it takes.
                kept = {
                    name: current[name] for name in (names_in(shape) if shape else ()) if current.get(name) is not None
                }
                self.calls.ask("PUT", one, _of_shape(shape, kept | entry.fields))
            self._patch(entry, one, {name: entry.fields[name] for name in changed}, beside=shape)
        self._remember(entry)

    def _patch(self, entry: Entry, one: str, fields: dict[str, Any], *, beside: Any) -> None:
        """Send what only PATCH takes."""
        rest = {name: value for name, value in fields.items() if not _has_field(beside, name)}
        if rest and entry.has("PATCH"):
            self.calls.ask("PATCH", one, rest)

    def _remember(self, entry: Entry) -> None:
        for name, value in _secrets(entry).items():
            SentSecret.remember(self._sent, entry.label, name, value)

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


def _secrets(entry: Entry) -> dict[str, str]:
    return {name: json.dumps(entry.fields[name]) for name in entry.kind.secrets if name in entry.fields}


def _of_shape(shape: Any, fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if _has_field(shape, name)}


def _has_field(shape: Any, name: str) -> bool:
    return shape is not None and name in names_in(shape)


def _shown(entry: Entry, name: str, value: Any) -> str:
    return "(secret)" if name in entry.kind.secrets else _text(value)


def _text(value: Any) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{text[:LONGEST]}…" if len(text) > LONGEST else text or '""'
