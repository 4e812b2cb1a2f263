"""Reads a file that describes a registry, and finds every mistake in it that can be found without the registry.

    namespaces:
      - name: acme
        visibility: private
        webhooks: [{url: https://ci.acme.example/hook, events: [release.published]}]
    teams: [{name: platform, members: [alice], roles: [{namespace: acme, role: owner}]}]

Its words are those of the API. A value `{from_file: …}` or `{from_variable: …}` is read from there.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from apps.api.frame.base import Body
from apps.api.frame.bodies import mistakes_in, unknown_fields
from apps.contrib.apply import calls
from apps.contrib.apply.reading import kinds
from apps.lib.errors import Invalid
from apps.lib.formats import strict_yaml
from apps.lib.text.counting import many
from apps.room import Described, rooms

LONGEST = 4 * 1024 * 1024  # bytes of a file
LONGEST_VALUE = 256 * 1024  # bytes of a file that a value is read from
MOST = 200_000  # values in it, after aliases
SHOWN = 20  # mistakes that are listed
REFERENCES = ("from_file", "from_variable")
PRUNE = "prune"


@dataclass(slots=True)
class Entry:
    """One thing that the file describes. `parents`: the names of what contains it, from the outside."""

    kind: Described
    place: str  # in the file
    parents: tuple[str, ...]
    name: str
    by: str  # the field that names it
    fields: dict[str, Any]
    inner: list["Entry"] = field(default_factory=list)
    words: frozenset[str] = frozenset()  # kinds that its file lists, if only as an empty list

    @property
    def route(self) -> str:
        return self.kind.one["id" if self.kind.is_numbered else self.by]

    def takes(self, method: str) -> Any:
        """The shape of the body of PUT, PATCH or POST; None where there is no such call, or it takes none."""
        parents = len(self.parents)
        if method == "POST":
            return calls.takes(self.kind.rows, parents, method)
        return calls.takes(self.route, parents + (not self.kind.is_only), method)

    def has(self, method: str) -> bool:
        return calls.has(self.route, len(self.parents) + (not self.kind.is_only), method)

    @property
    def label(self) -> str:
        name = self.name or next((str(self.fields[key]) for key in self.kind.identity if key in self.fields), "")
        words = [self.kind.word.replace("_", " ")] + ([name] if name else [])
        return " ".join(words) + (f" of {' '.join(reversed(self.parents))}" if self.parents else "")


@dataclass(slots=True)
class Document:
    entries: list[Entry]
    prune: frozenset[str]
    words: frozenset[str]


def text_of(path: Path, *, most: int) -> str:
    """Read a file, or as much of it as shows that it is too long: a device has no end. Raises Invalid."""
    try:
        with path.open("rb") as file:
            raw = file.read(most + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror or error}.") from None
    except (UnicodeDecodeError, ValueError):
        raise Invalid(f"{path} is not text in UTF-8.") from None
    if len(raw) > most:
        raise Invalid(f"{path} has more than {most // 1024:,} KiB.")
    return text


def read(text: str, variable: Callable[[str], str]) -> Document:
    """Raises Invalid with all mistakes, each with its place. `variable`: what one of the environment has."""
    data = strict_yaml.load(text)
    if not isinstance(data, dict):
        raise Invalid(f"The file is {_named(data)}, expected keys such as `namespaces:`.")
    reader = _Reader(variable)
    reader.count(data, "the file", ())
    prune = reader.prune(data.pop(PRUNE, []))
    entries = reader.children(data, "", "", ())
    if unknown := reader.unknown(data, "", ()):
        reader.mistakes += unknown
    if mistakes := list(dict.fromkeys(reader.mistakes)):
        more = [f"and {len(mistakes) - SHOWN} more"] if len(mistakes) > SHOWN else []
        listed = "\n".join(f"  {one}" for one in (*mistakes[:SHOWN], *more))
        raise Invalid(f"The file has {many(len(mistakes), 'mistake')}:\n{listed}\n", hint="Nothing was changed.")
    return Document(entries, prune, frozenset(data))


class _Reader:
    def __init__(self, variable: Callable[[str], str]) -> None:
        self.variable = variable
        self.mistakes: list[str] = []
        self.counted = 0
        self.kinds = cache(kinds)  # thousands of entries ask

    def count(self, value: Any, place: str, above: tuple[int, ...]) -> None:
        """Refuse a file that contains itself, or grows by aliases."""
        if not isinstance(value, dict | list):
            return
        self.counted += len(value)
        if id(value) in above:
            raise Invalid(f"{place} contains itself by an alias.", hint="Write its values instead.")
        if self.counted > MOST:
            raise Invalid(f"The file has more than {MOST:,} values.", hint="Split it: what a file lacks stays.")
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            self.count(inner, f"{place}, {key}", (*above, id(value)))

    def prune(self, given: Any) -> frozenset[str]:
        known = {kind.word for room in rooms() for kind in room.described if not kind.is_only}
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            self.mistakes.append(f"prune is {_named(given)}, expected a list of kinds: {', '.join(sorted(known))}.")
            return frozenset()
        self.mistakes += [_unknown("prune", one, known) for one in given if one not in known]
        return frozenset(given)

    def children(self, data: dict[str, Any], within: str, place: str, parents: tuple[str, ...]) -> list[Entry]:
        found: list[Entry] = []
        for kind in self.kinds(within):
            if kind.word in data:
                found += self.listed(kind, data[kind.word], f"{place}{kind.word}", parents)
        return found

    def listed(self, kind: Described, given: Any, place: str, parents: tuple[str, ...]) -> list[Entry]:
        if kind.is_only:
            given = [given]
        elif not isinstance(given, list):
            self.mistakes.append(f"{place} is {_named(given)}, expected a list.")
            return []
        found: list[Entry] = []
        seen: dict[str, str] = {}
        for number, one in enumerate(given):
            where = place if kind.is_only else f"{place}[{number}]"
            entry = self.entry(kind, one, where, parents)
            if entry is None:
                continue
            key = f"{entry.by} {entry.name.casefold()}"
            if entry.name and key in seen:
                self.mistakes.append(
                    f"{where}: {entry.name!a} is described at {seen[key]} already; names do not differ by letter case."
                )
            seen[key] = where
            found.append(entry)
        return found

    def entry(self, kind: Described, given: Any, place: str, parents: tuple[str, ...]) -> Entry | None:
        names = [] if kind.is_numbered or kind.is_only else list(kind.one)
        if isinstance(given, str) and names:
            given = {names[0]: given}
        if not isinstance(given, dict):
            self.mistakes.append(f"{place} is {_named(given)}, expected a map of fields.")
            return None
        by = next((name for name in names if name in given), "")
        if names and not by:
            self.mistakes.append(f"{place} has no {' or '.join(names)}.")
            return None
        if len(both := [name for name in names if name in given]) > 1:
            self.mistakes.append(f"{place} has {' and '.join(both)}, expected one of them: write two entries.")
            return None
        name = given[by] if by else ""
        if not isinstance(name, str) or (by and not name):
            self.mistakes.append(f"{place}: {by} is {_named(name)}, expected a name.")
            return None
        inner_words = {child.word for child in self.kinds(kind.word)}
        fields = {key: value for key, value in given.items() if key != by and key not in inner_words}
        entry = Entry(kind, place, parents, name, by, fields, words=frozenset(inner_words & given.keys()))
        entry.fields = self.resolved(fields, place)
        entry.inner = self.children(given, kind.word, f"{place}.", (*parents, name))
        try:
            urls_of(entry, "0")
        except Invalid as refused:
            self.mistakes.append(f"{place}: {refused}")
            return None
        shapes = shapes_of(entry)
        known = frozenset[str]().union(*map(calls.names_in, shapes))
        self.mistakes += self.unknown(fields, f"{place}: ", known, inner_words)
        self.mistakes += self.wrong(entry, shapes, place)
        return entry

    def unknown(self, given: dict[str, Any], place: str, known: Collection[str], more: Any = ()) -> list[str]:
        names = {*known, *more} or {kind.word for kind in kinds()} | {PRUNE}
        if not place:
            return [_unknown("The file", one, names) for one in given if one not in names]
        return [_unknown(place.rstrip(": "), one, names) for one in given if one not in known]

    def wrong(self, entry: Entry, shapes: Sequence[Body], place: str) -> list[str]:
        """Return what the API would say of the fields of each call, without their context."""
        found = []
        for shape in shapes:
            some = {name: value for name, value in entry.fields.items() if name in calls.names_in(shape)}
            blank = calls.blank(shape)
            inner = [one for one in unknown_fields(blank, some) if one[0]]
            found += [_unknown(f"{place}.{'.'.join(where)}", name, known) for where, name, known in inner]
            if some or shape is shapes[0]:
                found += [f"{place}: {said}" for said in mistakes_in(blank, some)]
        return found

    def resolved(self, value: Any, place: str) -> Any:
        if isinstance(value, list):
            return [self.resolved(one, place) for one in value]
        if not isinstance(value, dict):
            return value
        [*names] = value
        if len(names) != 1 or names[0] not in REFERENCES:
            return {key: self.resolved(one, f"{place}.{key}") for key, one in value.items()}
        source = str(value[names[0]])
        if names[0] == "from_variable":
            if not self.variable(source):
                self.mistakes.append(f"{place}: the variable {source!a} is not set.")
            return self.variable(source)
        try:
            return text_of(Path(source), most=LONGEST_VALUE).strip()
        except Invalid as refused:
            self.mistakes.append(f"{place}: {refused}")
            return ""


def shapes_of(entry: Entry) -> list[Body]:
    """The bodies that describe it, the one that makes it first."""
    return [shape for shape in (entry.takes("PUT") or entry.takes("POST"), entry.takes("PATCH")) if shape is not None]


def urls_of(entry: Entry, number: str = "") -> tuple[str, str]:
    """The URL of one, and that of the list of its kind; empty for none. `number`: the id of a numbered one.

    Raises Invalid for a name that no URL can have.
    """
    kind = entry.kind
    own = [number] if kind.is_numbered else [entry.name] if entry.by else []
    names = [*own, *entry.parents] if kind.own_first else [*entry.parents, *own]
    rows = calls.address(kind.rows, *entry.parents) if kind.rows else ""
    return calls.address(entry.route, *names), rows


def _unknown(place: str, word: str, known: Any) -> str:
    nearest = get_close_matches(word, known, 1)
    listed = f"did you mean {nearest[0]}?" if nearest else f"expected one of {', '.join(sorted(known))}."
    return f"{place}: {word!a} is unknown: {listed}"


def _named(value: Any) -> str:
    words = {dict: "a map", list: "a list", str: "text", bool: "a truth value", int: "a number", type(None): "empty"}
    return words.get(type(value), f"a {type(value).__name__}")
