"""/modules/<address>/graph and /providers/<address>/graph: who uses it and what it uses, at any distance."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from apps.accounts.identity.sessions import session_viewer
from apps.contrib.graph import diagrams, finding
from apps.contrib.graph.diagrams import Arrow, Box
from apps.contrib.graph.finding import Graph, Node
from apps.lib import versions
from apps.lib.addresses import ModuleAddress
from apps.portal.frame.page_urls import Address, page_of, url_of
from apps.portal.modules.frame import MODULES
from apps.portal.providers.pages import PROVIDERS
from apps.portal.versions.pages import VersionPages
from apps.portal.versions.usage_frame import usage_frame
from apps.providers.reading import visible_among

# Rows of dependents on a page, and of dependencies, which are few.
PAGE = 50
USED = 200
MAX_IN_COLUMN = 12


@dataclass(frozen=True, slots=True)
class Row:
    """`through`: the neighbours that are one step nearer, with the constraints between.

    `versions` are those that clients select for these; `refused` is the default one if one of these does not accept it.
    """

    node: Node
    through: list[tuple[Address, list[str]]]
    versions: list[str]
    refused: str


@login_not_required
@require_safe
def dependency_graph(request: HttpRequest, *, pages: VersionPages, **names: str) -> HttpResponse:
    viewer = session_viewer(request)
    parent, role = pages.parent_and_role(viewer, pages.address_type(**names))
    address: Address = parent.address
    context = usage_frame(pages, viewer, parent, role, part="graph")
    used_by = finding.dependents_of(viewer, address)
    uses = Graph(address)
    if isinstance(address, ModuleAddress):  # a provider uses none
        uses, requirements = finding.dependencies_of(viewer, address)
        uses.require(requirements, visible_among(viewer, (one.provider for one in requirements)))
    context |= {"steps": finding.MAX_STEPS, "used_by": used_by, "page": page_of(_rows(used_by), request, size=PAGE)}
    use_rows = _rows(uses)
    context |= {"uses": uses, "use_rows": use_rows[:USED], "refuses": any(row.refused for row in use_rows[:USED])}
    context["picture"] = picture(used_by, uses, {row.node.address: " or ".join(row.versions) for row in use_rows})
    return render(request, "portal/graph/page.html", context)


def picture(used_by: Graph, uses: Graph, selected: Mapping[Address, str]) -> SafeString | None:
    """Callers left of what they call. None where there is nothing but the module itself.

    `selected` is the version of each that it uses.
    """
    if not (used_by.nodes or uses.nodes):
        return None
    far, near = _by_step(used_by.nodes), _by_step([node for node in uses.nodes if node.address not in used_by.steps])
    start = _box(used_by.start, tone="start")
    left = [_column(nodes, "used", {node.address: node.version for node in nodes}) for nodes in far[::-1]]
    columns = [*left, [start], *(_column(nodes, "uses", selected) for nodes in near)]
    links = used_by.links | uses.links
    arrows = [
        Arrow(caller, called, f"{caller} uses {called}: {' or '.join(sorted(one or 'any version' for one in asked))}")
        for (caller, called), asked in links.items()
    ]
    return diagrams.draw(
        columns,
        arrows,
        title=f"Dependency graph of {used_by.start}",
        description=f"Dependents, on the left: {len(used_by.nodes)}. Dependencies, on the right: {len(uses.nodes)}. "
        "See the tables.",
    )


def _rows(found: Graph) -> list[Row]:
    nearer, selected = found.nearer(), finding.selected(found)
    rows = []
    for node in found.nodes:
        uses, there = found.others.get(node.address, {}).values(), selected[node.address]
        is_refused = node.version not in there and any(use.refuses(versions.parse(node.version)) for use in uses)
        rows.append(Row(node, nearer.get(node.address, []), there, node.version if is_refused else ""))
    return rows


def _by_step(nodes: Iterable[Node]) -> list[list[Node]]:
    """The nearest first."""
    steps: dict[int, list[Node]] = {}
    for node in nodes:
        steps.setdefault(node.steps, []).append(node)
    return [steps[step] for step in sorted(steps)]


def _column(nodes: list[Node], side: str, versions: Mapping[Address, str]) -> list[Box]:
    shown = nodes if len(nodes) <= MAX_IN_COLUMN else nodes[: MAX_IN_COLUMN - 1]
    boxes = [_box(node.address, version=versions[node.address]) for node in shown]
    if left := len(nodes) - len(shown):
        text = f"and {left:,} more"
        boxes.append(Box((side, nodes[0].steps), "", text, f"{text}: see the table", tone="more"))
    return boxes


def _box(address: Address, *, version: str = "", tone: str = "") -> Box:
    kind = "module" if isinstance(address, ModuleAddress) else "provider"
    title = f"{kind.capitalize()} {address}{f' {version}' if version else ''}"
    return Box(address, f"{address.namespace}/", address.path_name, title, url_of(address, "graph"), tone or kind)


urlpatterns = [
    path(f"{pages.path}/graph", dependency_graph, {"pages": pages}, name=f"{pages.kind}-graph")
    for pages in (MODULES, PROVIDERS)
]
