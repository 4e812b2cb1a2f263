"""Walk a file's blocks through the table and report what clients refuse."""

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from apps.modules.inspection.blocks import File
from apps.modules.inspection.language import rules
from apps.modules.inspection.language.addresses import expected_provider_name, is_name
from apps.modules.inspection.language.bodies import Argument, Content, Inner
from apps.modules.inspection.language.clients import EVERY, Clients, Finding
from apps.modules.inspection.language.schema import BLOCKS, TOP_LEVEL, Block, Nested

MAX_FINDINGS = 20  # in one file
MAX_SHOWN = 60  # characters of a name
_REMOVED_PROVISIONERS = frozenset({"chef", "habitat", "puppet", "salt-masterless"})


@dataclass(slots=True)
class Judged:
    """`unique`: what a module may contain once, by name and labels, each with where it is."""

    findings: list[Finding] = field(default_factory=list)
    unique: list[tuple[str, Finding]] = field(default_factory=list)


def judge(file: File, blocks: Iterable[Inner], problems: Iterable[tuple[int, str]], *, is_override: bool) -> Judged:
    judging = _Judging(file, is_override=is_override)
    for at, message in problems:
        judging.refuse(at, message)
    for block in blocks:
        if len(judging.judged.findings) >= MAX_FINDINGS:
            break
        judging.inner(block, TOP_LEVEL.get(block.kind), "a block of a module", TOP_LEVEL, EVERY)
    return judging.judged


def duplicates(judged: Iterable[Judged]) -> Iterator[Finding]:
    """What a module contains a second time."""
    seen = set()
    for file in judged:
        for name, finding in file.unique:
            if name in seen:
                yield finding
            seen.add(name)


class _Judging:
    def __init__(self, file: File, *, is_override: bool) -> None:
        self.file = file
        self.is_override = is_override
        self.outer: tuple[str | None, ...] = ()  # the labels of the block around the one that is judged
        self.judged = Judged()

    def refuse(self, at: int, message: str, refusing: Clients = EVERY) -> None:
        if refusing:
            self.judged.findings.append(Finding(self.file.diagnostic(at, message), refusing))

    def inner(
        self, found: Inner, nested: Nested | None, where: str, known: Iterable[str], clients: Clients
    ) -> None:
        """One block. `clients`: those that read the block around it."""
        if nested is None:
            self.refuse(found.at, f"found a block {_shown(found.kind)}, expected {_one_of(found.kind, known)}", clients)
            return
        if nested.clients != EVERY:
            why = f"found a block {found.kind}: it is not for {where}"
            self.refuse(found.at, why, clients & ~nested.clients)
        clients &= nested.clients
        if not clients:
            return
        block = BLOCKS[nested.key]
        if self.is_override and not block.overridable:
            self.refuse(found.at, f"found a block {found.kind}, expected none in an override file", clients)
            return
        if self._labels(found, block, clients):
            self.body(found, block, clients)

    def _labels(self, found: Inner, block: Block, clients: Clients) -> bool:
        """Whether the labels are as many as expected."""
        if None in found.labels:
            self.refuse(found.at, f"found {found.kind} with a label that is no plain string", clients)
            return False
        if len(found.labels) != len(block.labels):
            message = f"found {found.kind} with {_counted(len(found.labels))}, expected {_counted(len(block.labels))}"
            self.refuse(found.at, message, clients)
            return False
        for label, rule in zip(found.labels, block.labels, strict=True):
            if problem := _LABELS[rule](label or ""):
                self.refuse(found.at, f"found {found.kind} {_shown(label or '')}, expected {problem}", clients)
        return True

    def body(self, found: Inner, block: Block, clients: Clients) -> None:
        labels = {kind: len(BLOCKS[nested.key].labels) for kind, nested in block.blocks.items()}
        content = found.body.content(labels, only_arguments=block.only_arguments is not None)
        for at, message in content.problems:
            self.refuse(at, message, clients)
        title = " ".join([found.kind, *(f'"{_shown(label or "")}"' for label in found.labels)])
        if block.unique:
            name = " ".join([block.unique, *(found.labels if block.unique == found.kind else ())])  # type: ignore[list-item]
            message = f"found another {title}, expected one {block.unique} block in a module"
            self.judged.unique.append((name, Finding(self.file.diagnostic(found.at, message), clients)))
        self._arguments(content, found, block, title, clients)
        self._blocks(content, found, block, title, clients)
        self._together(content, found, block, title, clients)

    def _arguments(self, content: Content, found: Inner, block: Block, title: str, clients: Clients) -> None:
        seen = set()
        for argument in content.arguments:
            if argument.name in seen:
                self.refuse(argument.at, f"{title}: {_shown(argument.name)} is set twice", clients)
                continue
            seen.add(argument.name)
            if block.only_arguments is not None:
                self._value(block.only_arguments, argument, content, found, title, clients)
                continue
            known = block.arguments.get(argument.name)
            if known is None:
                if argument.name in block.blocks:
                    message = f"{title}: found an argument {argument.name}, expected a block of this name"
                    self.refuse(argument.at, message, clients)
                elif not block.is_open:
                    expected = _one_of(argument.name, {**block.arguments, **block.blocks})
                    message = f"{title}: found the argument {_shown(argument.name)}, expected {expected}"
                    self.refuse(argument.at, message, clients)
                continue
            refusing = clients & ~known.clients
            self.refuse(argument.at, f"{title}: found the argument {argument.name}, which is not allowed", refusing)
            accepting = clients & known.clients
            if not argument.expression.is_constant:
                message = f"{title}: {argument.name} refers to something, expected a constant"
                self.refuse(argument.at, message, accepting & known.constant_for)
                accepting &= ~known.constant_for
            self._value(known.rule, argument, content, found, title, accepting)
        for name, argument_rule in block.arguments.items():
            if name not in seen and not self.is_override:
                message = f"{title}: the argument {name} is missing"
                self.refuse(found.at, message, clients & argument_rule.required)

    def _value(
        self, rule: str, argument: Argument, content: Content, found: Inner, title: str, clients: Clients
    ) -> None:
        if rule and clients:
            for place, expected, refusing in rules.RULES[rule](rules.Case(argument, content, self.outer)):
                shown = _shown(place.source)
                message = f"{title}: {_shown(argument.name)} is {shown}, expected {expected}"
                self.refuse(place.at, message, clients & refusing)

    def _blocks(self, content: Content, found: Inner, block: Block, title: str, clients: Clients) -> None:
        counted: dict[str, int] = {}
        for inner in content.blocks:
            nested = block.blocks.get(inner.kind)
            if nested is None and block.is_open:
                continue
            counted[inner.kind] = counted.get(inner.kind, 0) + 1
            if nested is not None and nested.most is not None and counted[inner.kind] > nested.most:
                self.refuse(inner.at, f"{title}: found another block {inner.kind}, expected one", clients & nested.clients)
                continue
            if nested is None and inner.kind in block.arguments:
                message = f"{title}: found a block {inner.kind}, expected an argument: {inner.kind} = …"
                self.refuse(inner.at, message, clients)
                continue
            self.outer = found.labels
            self.inner(inner, nested, title, block.blocks, clients)
        for kind, nested in block.blocks.items():
            if kind not in counted:
                self.refuse(found.at, f"{title}: a block {kind} is missing", clients & nested.least)

    def _together(self, content: Content, found: Inner, block: Block, title: str, clients: Clients) -> None:
        set_here = {argument.name: argument.at for argument in content.arguments}
        for inner in content.blocks:
            if inner.kind == "lifecycle" and block.conflicts:
                within = inner.body.content({}, only_arguments=True)
                set_here |= {f"lifecycle.{argument.name}": argument.at for argument in within.arguments}
        for group in block.conflicts:
            both = [name for name in group if name in set_here]
            if len(both) > 1:
                self.refuse(set_here[both[1]], f"{title}: found {' and '.join(both)}, expected one of them", clients)
        if block.one_of and not any(name in set_here for name in block.one_of):
            self.refuse(found.at, f"{title}: found neither {' nor '.join(block.one_of)}, expected one", clients)


def _name(label: str) -> str:
    return "" if is_name(label) else "a name: a letter or _, then letters, digits, _ and -"


def _variable(label: str) -> str:
    return "another name: this one is reserved" if label in rules.RESERVED_VARIABLES else _name(label)


def _provisioner(label: str) -> str:
    return "a provisioner that exists: clients removed this one" if label in _REMOVED_PROVISIONERS else ""


_LABELS: dict[str, Callable[[str], str]] = {
    "any": lambda _: "",
    "name": _name,
    "variable": _variable,
    "provider": expected_provider_name,
    "provisioner": _provisioner,
}


def _counted(labels: int) -> str:
    return "one label" if labels == 1 else f"{labels or 'no'} labels"


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def _one_of(name: str, known: Iterable[str]) -> str:
    """The known name that resembles it, or a list of them."""
    names = sorted(one for one in known if one != "_")
    near = difflib.get_close_matches(name[:MAX_SHOWN], names, 1)
    return near[0] if near else f"one of {', '.join(names)}" if names else "none"

