"""Which functions a function of Larder can call: enough to say where a request may lead.

Where it is unsure it says more, not less: a name that is mentioned counts as called, and a method of an object whose
class is unknown is each method of that name in the modules that are known there. It does not follow what runs in
another thread (`Thread(target=...)`), names in texts, and code of libraries.
"""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from tests.house.outside.names import OURS, Function, Module, Names, at_top, named_by

# Python calls them where the class itself is named.
DUNDERS = ("__init__", "__new__", "__post_init__", "__call__", "__enter__", "__exit__", "__iter__", "__next__")
LIBRARY = "a library's"
# What an annotation says that says nothing.
UNKNOWN = ("", "object", "typing.Any", "typing.Self")
# The position of what it calls.
IN_A_THREAD = {"threading.Thread": 1, "threading.Timer": 1, "apps.lib.process.periodic.Periodic": 1}


class Calls:
    """`edges`: by the full name of a function, class or constant, the full names that it mentions.

    Names that are not ours, such as `subprocess.run` and `time.sleep`, are among them.
    """

    def __init__(self, more: Mapping[str, str]) -> None:
        self.names = Names(more)
        self.edges: dict[str, set[str]] = defaultdict(set)
        for module in self.names.modules.values():
            for node in at_top(module.tree):
                self._connect(module, module.name, node)

    def of_modules(self, wanted: Collection[str]) -> set[str]:
        """The functions and classes of these modules, and of all below them."""
        prefixes = tuple(f"{name}." for name in wanted)
        return {name for name in self.edges if name.startswith(prefixes)}

    def reached(self, roots: Collection[str], *, doors: Collection[str] = ()) -> dict[str, str]:
        """All that can be called, each with what calls it: doors as well, but nothing behind them."""
        came = dict.fromkeys(sorted(roots), "")
        left = [root for root in came if root not in doors]
        for one in left:  # grows
            for other in sorted(self.edges.get(one, ())):
                if other not in came:
                    came[other] = one
                    if other not in doors:
                        left.append(other)
        return came

    def _connect(self, module: Module, within: str, node: ast.stmt) -> None:
        if isinstance(node, Function):
            _Body(self, module, f"{within}.{node.name}", within).read(node)
        elif isinstance(node, ast.ClassDef):
            name, names = f"{within}.{node.name}", self.names
            self.edges[name] |= {
                base for base in names.classes[name].bases if "." in base and not base.startswith(OURS)
            }
            for dunder in DUNDERS:
                self.edges[name] |= names.inherited(name, dunder)
            if names.is_of_a_library(name):
                self.edges[name] |= {f"{name}.{method}" for method in names.classes[name].methods}
            for inner in node.body:
                if isinstance(inner, Function | ast.ClassDef):
                    self._connect(module, name, inner)
                else:
                    for own in named_by(inner):
                        _Body(self, module, f"{name}.{own}", name).read(inner)
                    _Body(self, module, name, name).read(inner)
        else:
            for own in named_by(node):
                _Body(self, module, f"{within}.{own}", "").read(node)


class _Body:
    """What one function, class or constant mentions. `owner`: the class of `self`."""

    def __init__(self, calls: Calls, module: Module, name: str, owner: str) -> None:
        self.calls, self.names, self.module, self.name, self.owner = calls, calls.names, module, name, owner
        self.types: dict[str, str] = {}  # of variables: the class

    def read(self, node: ast.AST) -> None:
        nodes = list(_executed(node))
        for _ in range(2):  # a variable may have its class from one that comes later in the walk
            for one in nodes:
                self._declare(one)
        elsewhere = {inner for one in self._in_threads(nodes) for inner in _executed(one)}
        mentioned = self.calls.edges[self.name]
        for one in nodes:
            if one in elsewhere:
                continue
            if isinstance(one, ast.Attribute):
                mentioned |= self.named(one)
            elif isinstance(one, ast.Name) and one.id not in self.types and one.id in self.module.names:
                mentioned.add(self.names.resolved(self.module.names[one.id]))

    def named(self, node: ast.expr) -> set[str]:
        """The full names that an expression `x` or `x.y` may stand for."""
        names = self.names
        path = _dotted(node)
        if path and path[0] in self.module.names and path[0] not in self.types:
            owner, _, last = ".".join([self.module.names[path[0]], *path[1:]]).rpartition(".")
            owner = names.resolved(owner)
            if owner in names.classes:
                return names.methods(owner, last)
            if owner in names.modules or not owner.startswith(OURS):
                return {names.resolved(f"{owner}.{last}")}
        return self._method(node) if isinstance(node, ast.Attribute) else set()

    def _method(self, node: ast.Attribute) -> set[str]:
        names = self.names
        if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == "super":
            bases = names.classes[self.owner].bases if self.owner in names.classes else []
            return {one for base in bases for one in names.inherited(base, node.attr)}
        owner = names.resolved(self.type_of(node.value))
        if owner in names.classes:
            return names.methods(owner, node.attr)
        if node.attr.startswith("__") or (owner not in UNKNOWN and not owner.startswith(OURS)):
            return set()  # a library's
        known = names.imported(self.module.name)
        return {one for one in names.by_method.get(node.attr, ()) if names.module_of(one) in known}

    def type_of(self, node: ast.expr) -> str:
        """The full name of the class of a value, where it is plain; empty otherwise."""
        found = ""
        if isinstance(node, ast.Name):
            found = self.types.get(node.id, "")
        elif isinstance(node, ast.Await):
            found = self.type_of(node.value)
        elif isinstance(
            node, ast.Constant | ast.JoinedStr | ast.List | ast.ListComp | ast.Dict | ast.DictComp | ast.Set
        ):
            found = LIBRARY
        elif isinstance(node, ast.Call):
            found = self._type_of_call(node)
        elif isinstance(node, ast.Attribute):
            owner = self.names.resolved(self.type_of(node.value))
            found = self.names.classes[owner].fields.get(node.attr, "") if owner in self.names.classes else ""
        return found

    def _type_of_call(self, node: ast.Call) -> str:
        found = self.named(node.func)
        if found == {"typing.cast"}:
            return self.names.annotated(self.module, node.args[0])
        types = {one if one in self.names.classes else self.names.returns.get(one, LIBRARY) for one in found}
        only = types.pop() if len(types) == 1 else ""
        if only == "typing.Self" and isinstance(node.func, ast.Attribute):
            return self.type_of(node.func.value)
        return only

    def _declare(self, node: ast.AST) -> None:
        """Note the classes of arguments and variables."""
        pairs: list[tuple[ast.expr, str]] = []
        if isinstance(node, Function | ast.Lambda):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            for one in arguments:
                is_own = one.annotation is None and one is arguments[0] and one.arg in ("self", "cls")
                self.types.setdefault(
                    one.arg, self.owner if is_own else self.names.annotated(self.module, one.annotation)
                )
        elif isinstance(node, ast.Assign):
            pairs = [(target, self.type_of(node.value)) for target in node.targets]
        elif isinstance(node, ast.AnnAssign):
            pairs = [(node.target, self.names.annotated(self.module, node.annotation))]
        elif isinstance(node, ast.NamedExpr):
            pairs = [(node.target, self.type_of(node.value))]
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            pairs = [(node.optional_vars, self.type_of(node.context_expr))]
        for target, type_ in pairs:
            if isinstance(target, ast.Name) and type_:
                self.types.setdefault(target.id, type_)

    def _in_threads(self, nodes: Collection[ast.AST]) -> Iterator[ast.AST]:
        """What is given to a thread, and functions in this one that are."""
        for one in nodes:
            if isinstance(one, ast.Call) and (where := IN_A_THREAD.get(next(iter(self.named(one.func)), ""))):
                given = [word.value for word in one.keywords if word.arg == "target"] + one.args[where : where + 1]
                own = {it.id for it in given if isinstance(it, ast.Name)}
                yield from given
                yield from (inner for inner in nodes if isinstance(inner, Function) and inner.name in own)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes without annotations, which run nothing."""
    found = [node]
    for one in found:  # grows
        for name, value in ast.iter_fields(one):
            if name not in ("annotation", "returns", "ctx", "op"):
                found += [it for it in (value if isinstance(value, list) else [value]) if isinstance(it, ast.AST)]
    yield from found


def _dotted(node: ast.expr) -> list[str]:
    found: list[str] = []
    while isinstance(node, ast.Attribute):
        found.append(node.attr)
        node = node.value
    return [node.id, *reversed(found)] if isinstance(node, ast.Name) else []
