"""/api/v1/modules/…/dependents and …/dependencies, and /api/v1/providers/…/dependents: who uses what here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, ListField

from apps.api.frame.base import CURSOR, MODULE, PROVIDER, ApiView, operation
from apps.api.frame.shapes import NextField, Shape, With
from apps.contrib.graph import finding
from apps.contrib.graph.finding import Graph, Node
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Invalid
from apps.modules.catalogue.reading import module_for
from apps.modules.dependents.users import Address
from apps.providers.reading import provider_for, visible_among
from apps.releases.catalogue.reading import require_published


class Neighbour(Shape):
    address = CharField()
    constraints = ListField(
        child=CharField(), help_text="Version constraint. Empty for any, `tag …` for an OCI source."
    )


class GraphNode(Shape):
    kind = ChoiceField(["module", "provider"])
    address = CharField(help_text="namespace/name/system, or namespace/type.")
    version = CharField(allow_null=True, help_text="The module's default version; null for a provider.")
    steps = IntegerField(help_text="1 means direct use.")
    through = Neighbour(many=True, help_text="The modules one step nearer.")

    def kind_of(self, node: Node) -> str:
        return "module" if isinstance(node.address, ModuleAddress) else "provider"

    def version_of(self, node: Node) -> str | None:
        return node.version or None


class Dependency(GraphNode):
    selected = ListField(
        child=CharField(),
        help_text="The versions that the constraints select today. For a provider, the one version that all "
        "constraints allow. "
        "Empty if none matches.",
    )


class DependentPage(Shape):
    dependents = GraphNode(many=True)
    next = NextField()
    is_complete = BooleanField(help_text="false if Larder lists only some of them.")


class DependencyPage(Shape):
    dependencies = Dependency(many=True)
    next = NextField()
    is_complete = BooleanField(help_text="false if Larder lists only some of them.")


_STEPS = [str(number) for number in range(1, finding.MAX_STEPS + 1)]
_QUERY: dict[str, Any] = {
    "query": {"steps": "Maximum distance. 1, the default, means direct use."} | CURSOR,
    "choices": {"steps": _STEPS},
    "public": True,
}


class Neighbours(ApiView):
    """By the default version of each module; the nearest first."""

    def steps(self) -> int:
        text = self.text("steps") or _STEPS[0]
        if text not in _STEPS:
            raise Invalid(f"found steps={text!a}, expected {_STEPS[0]} to {_STEPS[-1]}", hint="Leave it out for 1.")
        return int(text)

    def nodes(self, found: Graph, selected: Mapping[Address, list[str]] = MappingProxyType({})) -> Response:
        nearer = found.nearer()
        through = {
            node.address: [{"address": other, "constraints": asked} for other, asked in nearer.get(node.address, [])]
            for node in found.nodes
        }
        nodes = [
            With(node, through=through[node.address], selected=selected.get(node.address, [])) for node in found.nodes
        ]
        return self.page(nodes, is_complete=not found.is_cut)


class ModuleDependents(Neighbours):
    @operation("List the modules that use a module", answers={200: DependentPage}, **_QUERY)
    def get(self, request: Request, **names: str) -> Response:  # noqa: ARG002
        module = module_for(self.viewer, ModuleAddress(**names))
        require_published(module)
        return self.nodes(finding.dependents_of(self.viewer, module.address, steps=self.steps()))


class ModuleDependencies(Neighbours):
    @operation(
        "List the modules and providers of this registry that a module uses", answers={200: DependencyPage}, **_QUERY
    )
    def get(self, request: Request, **names: str) -> Response:  # noqa: ARG002
        module = module_for(self.viewer, ModuleAddress(**names))
        require_published(module)
        found, required = finding.dependencies_of(self.viewer, module.address, steps=self.steps())
        found.require(required, visible_among(self.viewer, (one.provider for one in required)))
        return self.nodes(found, finding.selected(found))


class ProviderDependents(Neighbours):
    @operation("List the modules that use a provider", answers={200: DependentPage}, **_QUERY)
    def get(self, request: Request, **names: str) -> Response:  # noqa: ARG002
        provider = provider_for(self.viewer, ProviderAddress(**names))
        require_published(provider)
        return self.nodes(finding.dependents_of(self.viewer, provider.address, steps=self.steps()))


urlpatterns = [
    path(f"{MODULE}/dependents", ModuleDependents.as_view(), name="module-dependents"),
    path(f"{MODULE}/dependencies", ModuleDependencies.as_view(), name="module-dependencies"),
    path(f"{PROVIDER}/dependents", ProviderDependents.as_view(), name="provider-dependents"),
]
