"""The modules, classes and functions of Larder by their full names, and what a name in a module stands for."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.house import sources

OURS = ("apps.", "registry_site.")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Class:
    name: str
    bases: list[str] = field(default_factory=list)
    methods: set[str] = field(default_factory=set)
    fields: dict[str, str] = field(default_factory=dict)  # attributes with the class that their annotation names


@dataclass
class Module:
    name: str
    tree: ast.Module
    names: dict[str, str] = field(default_factory=dict)  # at the top and imported, in full


class Names:
    """`more`: the sources of modules that do not exist, by their names."""

    def __init__(self, more: Mapping[str, str]) -> None:
        self.modules: dict[str, Module] = {}
        self.classes: dict[str, Class] = {}
        self.functions: set[str] = set()
        self.returns: dict[str, str] = {}  # of a function, the class that its annotation names
        self.by_method: dict[str, set[str]] = defaultdict(set)
        self.subclasses: dict[str, set[str]] = defaultdict(set)
        self._imported: dict[str, set[str]] = {}
        for path in sources.python_files("apps", "registry_site"):
            name = sources.name_of(path).removesuffix(".py").replace("/", ".")
            if ".migrations." not in name:
                module = name.removesuffix(".__init__")
                self._declare(module, sources.tree_of(path), module if name != module else name.rpartition(".")[0])
        for name, source in more.items():
            self._declare(name, ast.parse(source), name.rpartition(".")[0])
        for one in self.classes.values():
            for base in one.bases:
                self.subclasses[self.resolved(base)].add(one.name)

    def resolved(self, name: str) -> str:
        """Follow what a module imports from another one."""
        for _ in range(5):
            owner, _, last = name.rpartition(".")
            found = self.modules[owner].names.get(last, name) if owner in self.modules else name
            if found == name:
                break
            name = found
        return name

    def module_of(self, name: str) -> str:
        while name not in self.modules:
            name = name.rpartition(".")[0]
        return name

    def imported(self, name: str) -> set[str]:
        """The modules that this one knows, because it imports them or one that does; itself among them."""
        if name not in self._imported:
            seen: set[str] = set()
            left = [name]
            while left:
                one = left.pop()
                if one in self.modules and one not in seen:
                    seen.add(one)
                    for full in self.modules[one].names.values():
                        left += [full, full.rpartition(".")[0]]
            self._imported[name] = seen
        return self._imported[name]

    def inherited(self, owner: str, name: str) -> set[str]:
        """The method of a class, its own or of a base; empty if it is a library's."""
        left, seen = [owner], set[str]()
        while left:
            one = self.resolved(left.pop(0))
            if one in self.classes and one not in seen:
                seen.add(one)
                if name in self.classes[one].methods:
                    return {f"{one}.{name}"}
                left += self.classes[one].bases
        return set()

    def methods(self, owner: str, name: str) -> set[str]:
        """Those that `name` can be on an object of this class: its own or inherited, and those of its subclasses."""
        found, left, seen = self.inherited(owner, name), [owner], set[str]()
        while left:
            for sub in self.subclasses.get(left.pop(), set()) - seen:
                seen.add(sub)
                left.append(sub)
                if name in self.classes[sub].methods:
                    found.add(f"{sub}.{name}")
        return found

    def is_of_a_library(self, name: str) -> bool:
        """Whether a base is a library's, which then calls the methods."""
        for base in map(self.resolved, self.classes[name].bases):
            if base in self.classes:
                if self.is_of_a_library(base):
                    return True
            elif base.rpartition(".")[0] not in ("", "typing", "enum"):
                return True
        return False

    def annotated(self, module: Module, node: ast.expr | None) -> str:
        """The full name of the class that an annotation names; of `X | None` it is X. Empty if that is not plain."""
        found = ""
        if isinstance(node, ast.Constant):
            found = "None" if node.value is None else self._annotated_text(module, str(node.value))
        elif isinstance(node, ast.BinOp):
            sides = {self.annotated(module, one) for one in (node.left, node.right)} - {"None"}
            found = sides.pop() if len(sides) == 1 else ""
        elif isinstance(node, ast.Subscript):
            found = self.annotated(module, node.value)
        elif isinstance(node, ast.Name):
            found = module.names.get(node.id, node.id)
        elif isinstance(node, ast.Attribute):
            owner = self.annotated(module, node.value)
            found = f"{owner}.{node.attr}" if owner else ""
        return found

    def _annotated_text(self, module: Module, text: str) -> str:
        try:
            return self.annotated(module, ast.parse(text, mode="eval").body)
        except SyntaxError:
            return ""

    def _declare(self, name: str, tree: ast.Module, package: str) -> None:
        module = self.modules[name] = Module(name, tree)
        for node in ast.walk(tree):  # imports inside functions as well
            if isinstance(node, ast.Import):
                for alias in node.names:
                    first = alias.name.split(".")[0]
                    module.names[alias.asname or first] = alias.name if alias.asname else first
            elif isinstance(node, ast.ImportFrom):
                above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                origin = ".".join([*above, *([node.module] if node.module else [])])
                module.names |= {alias.asname or alias.name: f"{origin}.{alias.name}" for alias in node.names}
        top = list(at_top(tree))
        for node in top:  # before annotations name them
            for own in named_by(node):
                module.names[own] = f"{name}.{own}"
        for node in top:
            self._declare_at_top(module, name, node)

    def _declare_at_top(self, module: Module, within: str, node: ast.stmt) -> None:
        if isinstance(node, Function):
            self.functions.add(f"{within}.{node.name}")
            self.returns[f"{within}.{node.name}"] = self.annotated(module, node.returns)
        elif isinstance(node, ast.ClassDef):
            name = f"{within}.{node.name}"
            bases = [found for base in node.bases if (found := self.annotated(module, base))]
            made = self.classes[name] = Class(name, bases)
            for inner in node.body:
                self._declare_at_top(module, name, inner)
                if isinstance(inner, Function):
                    made.methods.add(inner.name)
                    self.by_method[inner.name].add(f"{name}.{inner.name}")
                elif isinstance(inner, ast.Assign) and not isinstance(inner.value, ast.Constant):
                    for own in named_by(inner):  # such as a property, or a function under another name
                        made.methods.add(own)
                        self.by_method[own].add(f"{name}.{own}")
                elif isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                    made.fields[inner.target.id] = self.annotated(module, inner.annotation)


def at_top(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a module, those inside of `if` and `try` among them."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            yield from at_top(inner)
        elif isinstance(inner, ast.stmt):
            yield inner


def named_by(node: ast.stmt) -> list[str]:
    """The names that a statement at the top gives: of a function, a class, or variables."""
    if isinstance(node, Function | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
