"""Walk a file's blocks through the table and report what clients refuse."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from apps.lib.hcl.bodies import Argument, Content, Inner
from apps.lib.hcl.files import File
from apps.modules.inspection.language import rules
from apps.modules.inspection.language.addresses import expected_provider_name, is_name
from apps.modules.inspection.language.calls import Call, Configuration, call_of, configuration_of, provider_uses
from apps.modules.inspection.language.clients import EVERY, NONE, ONLY_OPENTOFU, Clients, Finding, required
from apps.modules.inspection.language.evaluation import Evaluated, Scope, evaluated, scope_of
from apps.modules.inspection.language.rules.cases import Case, Problem, Visited
from apps.modules.inspection.language.rules.named import RESERVED_VARIABLES
from apps.modules.inspection.language.schema import BLOCKS, TOP_LEVEL, labels_of
from apps.modules.inspection.language.table import Block, Nested
from apps.modules.inspection.language.uses import Uses, is_plain

MAX_FINDINGS = 20  # in one file
_OVERRIDING_ONCE = frozenset({"backend", "cloud", "encryption"})  # in each override file
MAX_SHOWN = 60  # characters of a name
_FREE = Nested("nested")
_KEY_PROVIDER = re.compile(r"[a-zA-Z0-9_-]+")
_OF_PROVIDERS = frozenset({"module", "resource", "data", "ephemeral"})
_REMOVED_PROVISIONERS = frozenset({"chef", "habitat", "puppet", "salt-masterless"})


@dataclass(frozen=True, slots=True)
class Need:
    """A reference that a client resolves when it loads the module: a `var`, `local` or `provider`, or an `instance` of
    one. `user`: the argument that refers to a `var` or `local`; `is_plain`: nothing but such references decides its
    value.
    """

    kind: str
    name: str
    finding: Finding
    user: str = ""
    is_plain: bool = False


@dataclass(slots=True)
class Judged:
    """`unique`: what a module may contain once, by name and labels, each with where it is. `needs`: what it must
    contain. `uses`: None if it is not known; `evaluated` is what they are found in.
    """

    findings: list[Finding] = field(default_factory=list)
    unique: list[tuple[str, Finding]] = field(default_factory=list)
    needs: list[Need] = field(default_factory=list)
    provider_uses: list[Need] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    configurations: list[Configuration] = field(default_factory=list)
    evaluated: list[Evaluated] = field(default_factory=list)
    uses: Uses | None = None


def judge(file: File, content: Content, *, is_override: bool) -> Judged:
    judging = _Judging(file, is_override=is_override)
    for at, message in content.problems:
        judging.add_finding(at, message)
    for block in content.blocks:
        if judging.is_full:
            break
        judging.top_level(block)
    return judging.judged


def duplicates(judged: Iterable[Judged]) -> Iterator[Finding]:
    """Yield a finding for each thing that a module contains a second time."""
    seen = set()
    for file in judged:
        for name, finding in file.unique:
            if name in seen:
                yield finding
            seen.add(name)


@dataclass(frozen=True)
class _Visit:
    """A block with its entry in the table. `clients`: those that read it."""

    found: Inner
    block: Block
    content: Content
    clients: Clients
    around: "_Visit | None"

    @cached_property
    def visited(self) -> Visited:
        return Visited(self.found, self.content, self.around.visited if self.around else None)

    @cached_property
    def title(self) -> str:
        own = " ".join([self.found.kind, *(f'"{_shown(label or "")}"' for label in self.found.labels)])
        return f"{self.around.title}, {own}" if self.around else own

    @cached_property
    def scope(self) -> Scope | None:
        if self.around is not None:
            return self.around.scope and scope_of(self.visited, "", self.around.scope)
        return scope_of(self.visited, self.title, None)


class _Judging:
    def __init__(self, file: File, *, is_override: bool) -> None:
        self.file = file
        self.is_override = is_override
        self.judged = Judged()
        self.partly: set[Clients] = set()

    def add_finding(self, at: int, message: str, refusing: Clients = EVERY) -> None:
        """Of what only some clients refuse, the first of each kind is enough."""
        if not refusing or refusing in self.partly or self.is_full:
            return
        if refusing != EVERY:
            self.partly.add(refusing)
        self.judged.findings.append(Finding(self.file.diagnostic(at, message), refusing))

    @property
    def is_full(self) -> bool:
        return len(self.judged.findings) - len(self.partly) >= MAX_FINDINGS

    def top_level(self, found: Inner) -> None:
        self._inner(found, TOP_LEVEL.get(found.kind), TOP_LEVEL, None)

    def _inner(self, found: Inner, nested: Nested | None, known: Iterable[str], around: _Visit | None) -> None:
        clients = around.clients if around else EVERY
        if nested is None:
            message = f"{_where(around)}found a block {_shown(found.kind)}, expected {_one_of(found.kind, known)}"
            self.add_finding(found.at, message, clients)
            return
        if refusing := clients & ~nested.clients:
            self.add_finding(found.at, _limited(f"{_where(around)}the block {found.kind}", nested.clients), refusing)
        clients &= nested.clients
        block = BLOCKS[nested.key]
        if self.is_override and (refusing := clients & block.primary):
            message = f"{_where(around)}found a block {found.kind}, expected none in an override file"
            self.add_finding(found.at, message, refusing)
        if not clients or not self._labels(found, block, clients):
            return
        content = found.body.content(labels_of(block.blocks), only_arguments=block.only_arguments is not None)
        self._body(_Visit(found, block, content, clients, around))

    def _labels(self, found: Inner, block: Block, clients: Clients) -> bool:
        """Return whether the block has as many labels as expected."""
        if block.any_labels and None not in found.labels:
            return True
        if None in found.labels:
            self.add_finding(found.at, f"found {found.kind} with a label that is not a plain string", clients)
            return False
        if len(found.labels) != len(block.labels):
            message = f"found {found.kind} with {_counted(len(found.labels))}, expected {_counted(len(block.labels))}"
            self.add_finding(found.at, message, clients)
            return False
        for label, rule in zip(found.labels, block.labels, strict=True):
            if problem := _LABELS[rule](label or ""):
                self.add_finding(found.at, f"found {found.kind} {_shown(label or '')}, expected {problem}", clients)
        return True

    def _body(self, visit: _Visit) -> None:
        if not visit.block.is_undecoded:
            for at, message in visit.content.problems:
                self.add_finding(at, message, visit.clients)
        self._unique(visit)
        seen = set()
        for argument in visit.content.arguments:
            if argument.name in seen and self._is_known(visit.block, argument):
                self.add_finding(argument.at, f"{visit.title}: {_shown(argument.name)} is set twice", visit.clients)
            else:
                self._argument(visit, argument)
            seen.add(argument.name)
        for name, known in visit.block.arguments.items():
            if name not in seen and not self.is_override and (refusing := visit.clients & known.required):
                self.add_finding(visit.found.at, f"{visit.title}: the argument {name} is missing", refusing)
        self._blocks(visit)
        self._together(visit)
        self._needs(visit)
        if visit.around is None:
            self._interface(visit)
        for check in visit.block.checks:
            self._report(visit, rules.CHECKS[check](visit.visited), "", visit.clients)

    def _unique(self, visit: _Visit) -> None:
        unique, kind = visit.block.unique, visit.found.kind
        if not unique or (self.is_override and kind not in _OVERRIDING_ONCE):
            return
        name = f"{unique} {visit.found.labels if unique == kind else ''}"
        if kind == "import":
            to = visit.content.value("to")
            if to is None or not to.traversal:  # it is evaluated
                return
            name = f"import {' '.join(to.source.split())}"
        if self.is_override:
            name = f"{kind} in {self.file.path}"
        message = f"found another {visit.title}, expected one {unique} block in a module"
        place = self.file.diagnostic(visit.found.at, message)
        self.judged.unique.append((name, Finding(place, visit.clients)))

    def _is_known(self, block: Block, argument: Argument) -> bool:
        """Return whether a second setting of the argument is an error: in JSON clients ignore those that belong to a
        provider.
        """
        is_named = argument.name in block.arguments or block.only_arguments is not None
        return is_named or not argument.expression.is_json

    def _argument(self, visit: _Visit, argument: Argument) -> None:
        block = visit.block
        known = block.arguments.get(argument.name)
        rule = block.only_arguments or (known.rule if known else "")
        if visit.scope is not None and (found := evaluated(visit.scope, visit.visited, argument, rule)):
            self.judged.evaluated.append(found)
        if block.only_arguments is not None:
            self._value(visit, block.only_arguments, argument, visit.clients)
            return
        if known is None:
            if not block.is_open and not self.is_full:
                is_block = argument.name in block.blocks
                expected = "a block of this name" if is_block else _one_of(argument.name, block.arguments)
                message = f"{visit.title}: found the argument {_shown(argument.name)}, expected {expected}"
                self.add_finding(argument.at, message, visit.clients)
            return
        if refusing := visit.clients & ~known.clients:
            self.add_finding(
                argument.at, _limited(f"{visit.title}: the argument {argument.name}", known.clients), refusing
            )
        accepting = visit.clients & known.clients
        if accepting & known.constant_for and not argument.expression.is_constant:
            message = f"{visit.title}: {argument.name} contains a reference, expected a constant"
            if known.constant_for != EVERY:
                message = _limited(f"{visit.title}: {argument.name} with a reference", EVERY & ~known.constant_for)
            self.add_finding(argument.at, message, accepting & known.constant_for)
            accepting &= ~known.constant_for
        rule = known.overriding if self.is_override and known.overriding is not None else known.rule
        self._value(visit, rule, argument, accepting)

    def _value(self, visit: _Visit, rule: str, argument: Argument, clients: Clients) -> None:
        if rule and clients:
            self._report(visit, rules.RULES[rule](Case(argument, visit.visited)), argument.name, clients)

    def _report(self, visit: _Visit, problems: Iterable[Problem], name: str, clients: Clients) -> None:
        for place, expected, refusing in problems:
            if clients & refusing:
                # A default may be a secret.
                shown = "" if name == "default" else f" is {_shown(place.source)}" if name else _shown(place.source)
                message = f"{visit.title}: {_shown(name)}{shown}, expected {expected}"
                self.add_finding(place.at, message, clients & refusing)

    def _blocks(self, visit: _Visit) -> None:
        block = visit.block
        counted: dict[str, int] = {}
        for inner in visit.content.blocks:
            nested = block.blocks.get(inner.kind)
            if nested is None and block.is_open:
                self._inner(inner, _FREE, (), visit)
                continue
            counted[inner.kind] = counted.get(inner.kind, 0) + 1
            if nested is not None and nested.most is not None and counted[inner.kind] > nested.most:
                message = f"{visit.title}: found another block {inner.kind}, expected one"
                self.add_finding(inner.at, message, visit.clients & nested.clients & nested.most_for)
            elif nested is None and inner.kind in block.arguments:
                message = f"{visit.title}: found a block {inner.kind}, expected an argument: {inner.kind} = …"
                self.add_finding(inner.at, message, visit.clients)
            else:
                self._inner(inner, nested, block.blocks, visit)
        for kind, nested in block.blocks.items():
            if kind not in counted and (refusing := visit.clients & nested.least):
                self.add_finding(visit.found.at, f"{visit.title}: a block {kind} is missing", refusing)

    def _needs(self, visit: _Visit) -> None:
        kind = visit.found.kind
        if visit.block is not BLOCKS["checked_data"] and visit.around is not None:
            return
        if kind in _OF_PROVIDERS:
            for used, name, has_key in provider_uses(visit.visited):
                expected = "a provider with for_each" if has_key else f"an instance, as in {name}[each.key]"
                message = f"{visit.title}: found the provider {_shown(used.source)}, expected {expected}"
                finding = Finding(self.file.diagnostic(used.at, message), visit.clients & ONLY_OPENTOFU)
                self.judged.provider_uses.append(Need("instance" if has_key else "provider", name, finding))
        read = ("source", "version") if kind == "module" else ("for_each",) if kind == "provider" else ()
        for name in read:
            expression = visit.content.value(name)
            if expression is None:
                continue
            has_only_references = is_plain(expression)
            for found in expression.variables or ():
                if found[0] in ("var", "local") and len(found) > 1:
                    user = f"{visit.title}: {name}"
                    message = f"{user} refers to {'.'.join(found[:2])}, expected what is declared"
                    finding = Finding(self.file.diagnostic(expression.at, message), visit.clients)
                    self.judged.needs.append(Need(found[0], found[1], finding, user, has_only_references))

    def _interface(self, visit: _Visit) -> None:
        if visit.found.kind == "module":
            self.judged.calls += call_of(visit.visited)
        elif visit.found.kind == "provider":
            self.judged.configurations += configuration_of(visit.visited)

    def _together(self, visit: _Visit) -> None:
        block, content = visit.block, visit.content
        if not block.conflicts and not block.one_of:
            return
        set_here = {argument.name: argument.at for argument in content.arguments}
        for inner in content.blocks:
            if inner.kind == "lifecycle" and block.conflicts:
                within = inner.body.content({}, only_arguments=True)
                set_here |= {f"lifecycle.{argument.name}": argument.at for argument in within.arguments}
        for group in block.conflicts:
            both = [name for name in group if name in set_here]
            if len(both) > 1:
                message = f"{visit.title}: found {' and '.join(both)}, expected one of them"
                self.add_finding(set_here[both[1]], message, visit.clients)
        if block.one_of and not any(name in set_here for name in block.one_of):
            message = f"{visit.title}: found neither {' nor '.join(block.one_of)}, expected one"
            self.add_finding(visit.found.at, message, visit.clients)


def _name(label: str) -> str:
    return "" if is_name(label) else "a name: a letter or _, then letters, digits, _ and -"


def _variable(label: str) -> str:
    return "another name: this one is reserved" if label in RESERVED_VARIABLES else _name(label)


def _provisioner(label: str) -> str:
    return "a provisioner that exists: clients removed this one" if label in _REMOVED_PROVISIONERS else ""


_LABELS: dict[str, Callable[[str], str]] = {
    "any": lambda _: "",
    "name": _name,
    "variable": _variable,
    "provider": expected_provider_name,
    "provisioner": _provisioner,
    "key_provider": lambda label: "" if _KEY_PROVIDER.fullmatch(label) else "letters, digits, _ and -",
}


def _counted(labels: int) -> str:
    return "one label" if labels == 1 else f"{labels or 'no'} labels"


def _where(around: _Visit | None) -> str:
    return f"{around.title}: " if around else ""


def _limited(what: str, clients: Clients) -> str:
    return f"{what} {'is reserved' if clients == NONE else f'needs {required(clients)}'}"


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def _one_of(name: str, known: Iterable[str]) -> str:
    """The known name that resembles it, or a list of them."""
    names = sorted(one for one in known if one != "_")
    near = difflib.get_close_matches(name[:MAX_SHOWN], names, 1)
    return near[0] if near else f"one of {', '.join(names)}" if names else "none"
