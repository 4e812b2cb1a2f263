"""The dependents and dependencies of a module or provider: all steps, by the default version of each module.

Only modules that the viewer sees take part, so a hidden one neither appears nor leads to another.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import NamedTuple, TypeVar

from django.db.models import OuterRef, Q, Subquery, Value
from django.db.models.functions import Concat

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress, ProviderAddress, canonical
from apps.modules.catalogue.reading import visible_modules
from apps.modules.dependents import users
from apps.modules.dependents.users import BATCH_SIZE, Address, Offered, Use
from apps.modules.models import OCI, ModuleCall, ProviderRequirement
from apps.releases.models import Kind, Lifecycle, SearchDoc

MAX_STEPS = 5
# Modules that are found in one direction.
MAX_MODULES = 1_000
_TARGET = ("target_namespace", "target_name", "target_system")

Item = TypeVar("Item")


class Node(NamedTuple):
    """`version` is a module's default one, empty for a provider; `steps` is 1 for a direct neighbour."""

    address: Address
    version: str
    steps: int


class Requirement(NamedTuple):
    """`provider` is as configurations write it; whether the viewer sees it is unknown yet."""

    caller: ModuleAddress
    provider: ProviderAddress
    constraint: str


@dataclass(slots=True)
class Graph:
    """One direction. `links` has what a caller asks of what it calls; `is_cut`: there is more than `nodes`.

    `others` has by module and what is asked those calls that get, or may get, another version than its default one.
    """

    start: Address
    nodes: list[Node] = field(default_factory=list)
    links: dict[tuple[Address, Address], set[str]] = field(default_factory=dict)
    is_cut: bool = False
    others: dict[Address, dict[str, Use]] = field(default_factory=dict)

    @property
    def steps(self) -> dict[Address, int]:
        return {self.start: 0, **{node.address: node.steps for node in self.nodes}}

    def link(self, caller: Address, called: Address, asked: str) -> None:
        self.links.setdefault((caller, called), set()).add(asked)

    def add(self, found: Mapping[Address, str], step: int) -> list[Address]:
        """Add the new ones among (address, version) pairs; return their addresses."""
        known = self.steps
        new = sorted((one for one in found if one not in known), key=str)
        room = MAX_MODULES - len(self.nodes)
        self.is_cut |= len(new) > room
        self.nodes += [Node(one, found[one], step) for one in new[:room]]
        return new[:room]

    def require(self, requirements: Iterable[Requirement], visible: Mapping[str, ProviderAddress]) -> None:
        """Add the providers that the viewer sees, by their address as configurations write it."""
        known, found = self.steps, defaultdict[int, dict[Address, str]](dict)
        for caller, provider, constraint in requirements:
            if address := visible.get(str(provider)):
                self.link(caller, address, constraint)
                found[known[caller] + 1][address] = ""
        for step in sorted(found):
            self.add(found[step], step)
        self.nodes.sort(key=lambda node: (node.steps, str(node.address)))

    def nearer(self) -> dict[Address, list[tuple[Address, list[str]]]]:
        """For each node the neighbours that are one step nearer to the start, with the constraints between them."""
        known, found = self.steps, defaultdict[Address, list[tuple[Address, list[str]]]](list)
        for (caller, called), asked in self.links.items():
            for one, other in ((caller, called), (called, caller)):
                if one in known and known.get(other) == known[one] - 1:
                    found[one].append((other, sorted(asked)))
        return {one: sorted(others, key=str) for one, others in found.items()}


def dependents_of(viewer: Viewer, address: Address, *, steps: int = MAX_STEPS) -> Graph:
    """The modules that use it, those that use them, and so on; by steps, then by name."""
    graph = Graph(address)
    uses = [(use, address) for use in users.of(viewer, address)]
    graph.is_cut = len(uses) >= users.MAX_USES
    for step in range(1, steps + 1):
        for use, called in uses:
            graph.link(use.address, called, use.asked)
        level = graph.add({use.address: use.version for use, _ in uses}, step)
        if not level or graph.is_cut or step == steps:
            break
        uses = list(_uses_of_modules(viewer, level))
        graph.is_cut = len(uses) >= users.MAX_USES_OF_MANY
    return graph


def dependencies_of(
    viewer: Viewer, address: ModuleAddress, *, steps: int = MAX_STEPS
) -> tuple[Graph, list[Requirement]]:
    """The modules that it calls, those that they call, and so on; and the providers that all of them require."""
    graph, requiring = Graph(address), dict[int, ModuleAddress]()
    level = {one.release: one.address for one in _modules_at(viewer, [address])}
    for step in range(1, steps + 1):
        requiring |= level
        called: dict[Address, _Module] = {}
        for use, target in _calls_of(viewer, level):
            if target.address != use.address:
                graph.link(use.address, target.address, use.asked)
                called[target.address] = target
                default = Offered(target.version, Lifecycle.MAINTAINED)
                if not users.selected(use.constraint, use.source, [default]):
                    graph.others.setdefault(target.address, {})[use.asked] = use
        new = graph.add({one: target.version for one, target in called.items()}, step)
        level = {called[one].release: called[one].address for one in new}
        if not level or graph.is_cut:
            break
    fields = ("version__release", "target_namespace", "target_type", "constraint")
    return graph, [
        Requirement(requiring[release], ProviderAddress(namespace, kind), constraint)
        for batch in _batches(list(requiring))
        for release, namespace, kind, constraint in ProviderRequirement.objects.filter(
            version__release__in=batch
        ).values_list(*fields)
    ]


def selected(graph: Graph) -> dict[Address, list[str]]:
    """Return by module or provider the versions that clients select now, each once.

    Of a module for each nearer neighbour: those of calls that accept none are missing. Of a provider one for all that
    require it, as a configuration has one. Of the providers, and of the modules in `others`, the nearest BATCH_SIZE are
    looked at.
    """
    near = [node.address for node in graph.nodes if node.address in graph.others]
    offered = users.offered_of(Kind.MODULE, near)
    others = {
        one: {asked: users.selected(use.constraint, use.source, rows) for asked, use in graph.others[one].items()}
        for one, rows in offered.items()
    }
    nearer = graph.nearer()
    found: dict[Address, list[str]] = {}
    for node in graph.nodes:
        asked = [one for _, constraints in nearer.get(node.address, []) for one in constraints] or [""]
        versions_there = (others.get(node.address, {}).get(one, node.version) for one in asked)
        found[node.address] = [version for version in dict.fromkeys(versions_there) if version]
    required: dict[Address, set[str]] = {
        node.address: set() for node in graph.nodes if isinstance(node.address, ProviderAddress)
    }
    for (_, called), constraints in graph.links.items():
        if called in required:
            required[called] |= constraints - {""}
    for one, rows in users.offered_of(Kind.PROVIDER, required).items():
        version = users.selected(", ".join(sorted(required[one])), "", rows)
        found[one] = [version] if version else []
    return found


class _Module(NamedTuple):
    """Its default version and that version's release."""

    address: ModuleAddress
    version: str
    release: int


def _uses_of_modules(viewer: Viewer, called: Sequence[Address]) -> Iterator[tuple[Use, Address]]:
    """Yield the uses like `users.of_module`, of many modules."""
    for batch in _batches([one for one in called if isinstance(one, ModuleAddress)]):
        by_name = {str(one): one for one in batch}
        over_oci = {one.repository: one for one in batch}
        rows = ModuleCall.objects.installed().filter(version__release__in=users.default_releases(viewer))
        rows = rows.filter(
            reduce(or_, (Q(**dict(zip(_TARGET, name.split("/"), strict=True))) for name in {*by_name, *over_oci}))
        )
        for use, target in users.with_targets(rows):
            found = (over_oci if use.source.startswith(OCI) else by_name).get(str(target))
            if found is not None and found != use.address:
                yield use, found


def _calls_of(viewer: Viewer, callers: Mapping[int, ModuleAddress]) -> Iterator[tuple[Use, _Module]]:
    """The calls of releases, with what they call, for modules that the viewer sees."""
    fields = ("version__release", "source", "constraint", *_TARGET)
    calls = [
        row
        for batch in _batches(list(callers))
        for row in ModuleCall.objects.installed()
        .filter(version__release__in=batch)
        .exclude(target_name="")
        .values_list(*fields)
    ]
    targets = {ModuleAddress(*row[3:]) for row in calls}
    modules = {canonical(str(one.address)): one for one in _modules_at(viewer, sorted(targets, key=str))}
    for release, source, constraint, *parts in calls:
        found = modules.get(canonical("/".join(parts)))
        # Addresses are case-sensitive in clients; OCI repositories are lower case.
        if found and "/".join(parts) == (found.address.repository if source.startswith(OCI) else str(found.address)):
            yield Use(callers[release], "", constraint, source), found


def _modules_at(viewer: Viewer, addresses: Sequence[ModuleAddress]) -> Iterator[_Module]:
    """Those that the viewer sees and that have a default version, in any spelling."""
    docs = SearchDoc.objects.filter(
        kind=Kind.MODULE,
        namespace=OuterRef("namespace"),
        name=Concat(OuterRef("name"), Value("/"), OuterRef("system")),
    )
    release, version = Subquery(docs.values("release")), Subquery(docs.values("version"))
    for batch in _batches(addresses):
        named = (Q(namespace__canonical=canonical(one.namespace), canonical=canonical(one.path_name)) for one in batch)
        rows = visible_modules(viewer).filter(reduce(or_, named)).annotate(at=release, default=version).exclude(at=None)
        for namespace, name, system, number, at in rows.values_list(
            "namespace__name", "name", "system", "default", "at"
        ):
            yield _Module(ModuleAddress(namespace, name, system), number, at)


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[at : at + BATCH_SIZE] for at in range(0, len(items), BATCH_SIZE))
