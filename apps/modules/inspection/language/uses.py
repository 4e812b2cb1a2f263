"""The variables, local values, modules, resources and functions that the expressions of a file use.

Only what clients evaluate when they plan is looked at, and only where the first name surely refers to something of the
module: names of loops and of `dynamic` blocks are not such. References are resolved wherever they stand; functions and
outputs only where clients evaluate them. Sources: `internal/lang/references.go` of both clients,
HCL `hclsyntax/expression.go` and `ext/dynblock`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache

import tree_sitter_hcl
from tree_sitter import Language, Node, Query, QueryCursor

from apps.lib.hcl import tree
from apps.lib.hcl.bodies import KEY, Expression
from apps.lib.hcl.expressions import NativeExpression
from apps.lib.hcl.files import MAX_DEPTH, File
from apps.modules.inspection.json_syntax import COMMENT, Located, is_string
from apps.modules.inspection.language.evaluation import Evaluated, Owner, is_sound
from apps.modules.inspection.language.functions import UNJUDGED
from apps.modules.inspection.language.json_bodies import JsonExpression
from apps.modules.inspection.language.references import Subject, subject_of

_NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff-]*"
_ROOT = re.compile(_NAME)
_STEP = re.compile(rb"\.(?P<name>" + _NAME + rb")|\.(?:\*|\d+)|\[[^\[\]\n]*\]")
_REFERENCE = re.compile(_NAME + rb"(?:\." + _NAME + rb"|\.(?:\*|\d+)|\[[^\[\]\n]*\]){0,3}")  # what anything is named by
_CAPTURES = """
(variable_expr) @variable
(function_call) @call
(object_elem . (expression . (variable_expr) @key .))
[(for_tuple_expr) (for_object_expr) (template_for)] @loop
[(conditional) (template_if) (binary_operation ["&&" "||"])] @branch
"""
_LOOPS = frozenset({"for_tuple_expr", "for_object_expr", "template_for"})
_KINDS = frozenset({"var", "local", "module", "resource"})
_OBJECTS = frozenset({"count", "each", "self"})
_ROOTS = _KINDS | _OBJECTS | {"data", "ephemeral", "path", "terraform", "tofu"}
_ELSEWHERE = frozenset({"action", "provider", "list", "run"})  # roots of references that are not judged
_OF_ITERATORS = ("key", "value")  # what the element of a dynamic block has, whose name JSON does not show
_MAX_DEPTH = 4_000  # levels of the tree; brackets, of which there are at most MAX_DEPTH, have about ten each
_MARKER = b"LARDER_TEMPLATE"
# Most templates of JSON hold nothing but references: those need no tree.
_SEQUENCE = re.compile(
    r"\$\$\{|%%\{|\$\{ *(?P<plain>[A-Za-z_][\w-]*(?:\.(?:[A-Za-z_][\w-]*|\d+|\*)|\[(?:\d+|\*|\"[\w-]*\")\])*) *\}"
    r"|(?P<begins>[$%]\{)",
    re.ASCII,
)
_OBJECT = re.compile(r"\b(?:each|count|self|caller)\b")


@dataclass(slots=True)
class Uses:
    """Each with the first line of its use. `outputs`: name of the call, of the output, and whether a key of the call
    stands between. `words`: names without a point, which are no references. `misplaced`: references to each, count and
    self where these do not exist, each with the block that it is in. `owned`: what each local value and each input of
    a call refers to; `plain`: those that `is_plain` is true of.
    """

    subjects: dict[Subject, int] = field(default_factory=dict)
    outputs: dict[tuple[str, str, bool], int] = field(default_factory=dict)
    functions: dict[str, int] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    misplaced: dict[tuple[str, str], int] = field(default_factory=dict)
    owned: dict[Owner, dict[Subject, None]] = field(default_factory=dict)
    plain: set[Owner] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    evaluated: Evaluated
    stands_at: int | None = None  # where it is in its file, if it was parsed apart from it


@dataclass(frozen=True, slots=True)
class _Scope:
    """The expressions that clients may not evaluate: arguments of some calls, branches of a condition, and what a loop
    repeats with the `names` of its elements. `first`: the part that they evaluate in any case.
    """

    end: int
    names: frozenset[str] = frozenset()
    first: tuple[int, int] = (0, 0)

    def holds(self, start: int) -> bool:
        return not self.first[0] <= start < self.first[1]


def uses_in_native(file: File, nodes: Iterable[Node], evaluated: Iterable[Evaluated]) -> Uses:
    nodes_of = [(one.expression.node, one) for one in evaluated if isinstance(one.expression, NativeExpression)]
    spans = [_Span(node.start_byte, node.end_byte, one) for node, one in nodes_of]
    return _Collector(file, file, spans).collect(nodes)


def uses_in_json(file: File, evaluated: Iterable[Evaluated]) -> Uses | None:
    """None if one of the templates cannot be parsed: then it is not sure where others end."""
    text = bytearray()
    spans = []
    collector = _Collector(file, file, [])
    seen: set[tuple[str, Owner | None]] = set()
    for one in evaluated:
        for string in _strings(one.expression):
            sequences = _plain_sequences(string.content)
            if sequences is not None:
                for names, subject in sequences:
                    collector.refer(names, subject, one, file.line(string.start))
                continue
            # The same text has the same uses, unless it refers to the block or belongs to the value that it is in.
            known = (string.content, one.owner)
            if known in seen and not _OBJECT.search(string.content):
                continue
            seen.add(known)
            content = string.content.encode("utf-8", "replace")
            end = content.rfind(b"}") + 1  # what follows the last sequence has no uses
            if _MARKER not in content:
                start = len(text)
                text += b"x = <<%b\n%b\n%b\n" % (_MARKER, content if b"{" in content[end:] else content[:end], _MARKER)
                spans.append(_Span(start, len(text), one, string.start))
    if not spans:
        return collector.found
    collector.parsed = File("", bytes(text))
    collector.spans = spans
    root = tree.parse(collector.parsed)
    return None if root.has_error else collector.collect([root])


def _plain_sequences(text: str) -> list[tuple[list[str], Subject | None]] | None:
    """The reference in each sequence of a template; None if one of them is more than that."""
    found = []
    for match in _SEQUENCE.finditer(text):
        if match["plain"]:
            found.append(_named(match["plain"].encode("utf-8", "replace"), 0))
        elif match["begins"]:
            return None
    return found


def _strings(expression: Expression) -> Iterator[Located]:
    waiting = [expression.located] if isinstance(expression, JsonExpression) else []
    while waiting:
        one = waiting.pop()
        if is_string(one):
            yield one
        elif one.is_object:
            waiting += [member.value for member in one.content if member.key != COMMENT]
        elif one.is_list:
            waiting += one.content


def is_plain(expression: Expression) -> bool:
    """Return whether the expression is one reference, or a text with references alone: unknown if one of them is."""
    if isinstance(expression, JsonExpression):
        text = expression.located.content
        return isinstance(text, str) and _plain_sequences(text) is not None
    if expression.is_quoted:
        return _plain_sequences(expression.source[1:-1]) is not None
    return expression.traversal is not None


class _Collector:
    """`parsed` is what the nodes are of: the file itself, unless the spans say where they stand in it."""

    def __init__(self, file: File, parsed: File, spans: list[_Span]) -> None:
        self.file = file
        self.parsed = parsed
        self.spans = sorted(spans, key=lambda span: span.start)
        self.scopes: list[_Scope] = []
        self.found = Uses()

    def collect(self, nodes: Iterable[Node]) -> Uses:
        at = 0
        for node in nodes:
            self.scopes.clear()
            for start, is_variable, one in _captured(node):
                while at < len(self.spans) and self.spans[at].end <= start:
                    at += 1
                if at == len(self.spans) or len(self.scopes) > MAX_DEPTH:
                    return self.found
                span = self.spans[at]
                if span.start > start:
                    continue
                while self.scopes and self.scopes[-1].end <= start:
                    self.scopes.pop()
                line = self.file.line(start if span.stands_at is None else span.stands_at)
                if is_variable:
                    self._variable(start, span.evaluated, line)
                else:
                    self._scope(one, span.evaluated, line)
        return self.found

    def _variable(self, start: int, evaluated: Evaluated, line: int) -> None:
        names, subject = _named(self.parsed.text, start)
        if not any(names[0] in one.names and one.holds(start) for one in self.scopes):
            self.refer(names, subject, evaluated, line, is_judged=self._is_judged(start, evaluated))

    def refer(
        self, names: list[str], subject: Subject | None, evaluated: Evaluated, line: int, *, is_judged: bool = True
    ) -> None:
        """A reference to what is no name of a loop. `is_judged`: clients surely evaluate it."""
        root, *rest = names
        if root in evaluated.scope.iterators or root in _ELSEWHERE:
            return
        if subject is not None:
            self._own(subject, evaluated)
        if root in evaluated.scope.objects or root in _OBJECTS:
            if not is_sound(names, evaluated.scope):
                text = ".".join(one for one in names[:2] if one != KEY)
                self.found.misplaced.setdefault((text, evaluated.scope.owner), line)
            return
        is_word = not rest and root not in _ROOTS and not evaluated.expression.is_json
        if is_word and is_judged:
            self.found.words.setdefault(root, line)
        if subject is None or subject.kind not in _KINDS:
            return
        if subject.kind == "resource" and subject.names[1] in _OF_ITERATORS and evaluated.expression.is_json:
            return
        self.found.subjects.setdefault(subject, line)
        if subject.kind == "module" and is_judged:
            has_key = rest[1:2] == [KEY]
            if output := rest[2:3] if has_key else rest[1:2]:
                self.found.outputs.setdefault((rest[0], output[0], has_key), line)

    def _own(self, subject: Subject, evaluated: Evaluated) -> None:
        owner, owned = evaluated.owner, self.found.owned
        if owner is None:
            return
        if owner not in owned:
            owned[owner] = {}
            if is_plain(evaluated.expression):
                self.found.plain.add(owner)
        owned[owner][subject] = None

    def _is_judged(self, start: int, evaluated: Evaluated) -> bool:
        """Return whether clients surely evaluate the expression that begins there."""
        return not evaluated.scope.iterators and not any(scope.holds(start) for scope in self.scopes)

    def _scope(self, node: Node, evaluated: Evaluated, line: int) -> None:
        first, names = node.children[0], frozenset[str]()
        if node.type == "function_call":
            name = self.parsed.source(first)
            if self._is_judged(node.start_byte, evaluated):
                self.found.functions.setdefault(name, line)
            if name in UNJUDGED:
                self.scopes.append(_Scope(node.end_byte))
            return
        if node.type in _LOOPS:
            intro = next(child for child in node.children if child.type in ("for_intro", "template_for_start"))
            names = frozenset(self.parsed.source(child) for child in intro.children if child.type == "identifier")
            first = next(child for child in intro.children if child.type == "expression")
        elif node.type != "template_if":
            operator = next(child for child in node.children if child.type in ("?", "&&", "||"))
            self.scopes.append(_Scope(node.end_byte, first=(node.start_byte, operator.start_byte)))
            return
        self.scopes.append(_Scope(node.end_byte, names, (first.start_byte, first.end_byte)))


def _captured(node: Node) -> Iterator[tuple[int, bool, Node]]:
    """Start, whether it is a variable, and the node; in the order of the text."""
    cursor = QueryCursor(_query())
    cursor.set_max_start_depth(_MAX_DEPTH)  # the library does not return from trees of 65,536 levels
    captures = cursor.captures(node)
    keys = {one.start_byte for one in captures.get("key", ())}
    found = [(one.start_byte, True, one) for one in captures.get("variable", ()) if one.start_byte not in keys]
    scopes = [one for kind in ("call", "loop", "branch") for one in captures.get(kind, ())]
    found += [(one.start_byte, False, one) for one in scopes]
    return iter(sorted(found, key=lambda one: (one[0], -one[2].end_byte)))


def _named(text: bytes, start: int) -> tuple[list[str], Subject | None]:
    """The names from this root on, and a KEY for each index between them; at most as many as anything is named by."""
    found = _REFERENCE.match(text, start)
    return _read(found[0]) if found else ([""], None)


@lru_cache(maxsize=4096)
def _read(reference: bytes) -> tuple[list[str], Subject | None]:
    """The same ones are written again and again."""
    root = _ROOT.match(reference)
    steps = _STEP.finditer(reference, root.end() if root else 0)
    names = [root[0].decode("utf-8", "replace") if root else ""]
    names += (step["name"].decode("utf-8", "replace") if step["name"] else KEY for step in steps)
    return names, subject_of(tuple(names))


@cache
def _query() -> Query:
    return Query(Language(tree_sitter_hcl.language()), _CAPTURES)


def warm_up() -> None:
    _query()
