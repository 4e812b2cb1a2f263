"""/api/v1/modules/…/dependents, …/dependencies and …/outdated, and those of providers: who uses what here."""

from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Role
from apps.api.frame import contents
from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of, text_of
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Invalid
from apps.modules.catalogue.reading import module_and_role, module_for
from apps.modules.dependents import graph, users
from apps.modules.dependents.graph import Graph, Node
from apps.modules.dependents.users import Outdated
from apps.providers.reading import provider_and_role, provider_for, visible_among
from apps.releases.catalogue.reading import require_published
from apps.releases.models import Kind

_STEPS = [str(number) for number in range(1, graph.MAX_STEPS + 1)]
_QUERY = {"steps": "How far away; 1 is direct, and the default."} | CURSOR
_CHOICES = {"steps": _STEPS}


class Neighbours(ApiView):
    """By the default version of each module; the nearest first."""

    http_method_names = ["get", "head"]

    def page(self, request: Request, what: str, found: Graph) -> Response:
        nearer = found.nearer()

        def document_of(node: Node) -> dict[str, Any]:
            return {
                "kind": "module" if isinstance(node.address, ModuleAddress) else "provider",
                "address": str(node.address),
                "version": node.version or None,
                "steps": node.steps,
                "through": [
                    {"address": str(other), "constraints": asked} for other, asked in nearer.get(node.address, [])
                ],
            }

        return Response(page_of(request, what, found.nodes, document_of) | {"is_complete": not found.is_cut})


def _steps(request: Request) -> int:
    text = text_of(request, "steps") or _STEPS[0]
    if text not in _STEPS:
        raise Invalid(f"found steps={text!a}, expected {_STEPS[0]} to {_STEPS[-1]}", hint="Leave it out for 1.")
    return int(text)


class ModuleDependents(Neighbours):
    @operation(
        "List the modules that use a module",
        answers={200: contents.DependentPage},
        query=_QUERY,
        choices=_CHOICES,
        public=True,
    )
    def get(self, request: Request, namespace: str, name: str, system: str) -> Response:
        module = module_for(self.viewer, ModuleAddress(namespace, name, system))
        require_published(module)
        found = graph.dependents_of(self.viewer, module.address, steps=_steps(request))
        return self.page(request, "dependents", found)


class ModuleDependencies(Neighbours):
    @operation(
        "List the modules and providers of this registry that a module uses",
        answers={200: contents.DependencyPage},
        query=_QUERY,
        choices=_CHOICES,
        public=True,
    )
    def get(self, request: Request, namespace: str, name: str, system: str) -> Response:
        module = module_for(self.viewer, ModuleAddress(namespace, name, system))
        require_published(module)
        found, required = graph.dependencies_of(self.viewer, module.address, steps=_steps(request))
        found.require(required, visible_among(self.viewer, (one.provider for one in required)))
        return self.page(request, "dependencies", found)


class ProviderDependents(Neighbours):
    @operation(
        "List the modules that use a provider",
        answers={200: contents.DependentPage},
        query=_QUERY,
        choices=_CHOICES,
        public=True,
    )
    def get(self, request: Request, namespace: str, type: str) -> Response:  # noqa: A002
        provider = provider_for(self.viewer, ProviderAddress(namespace, type))
        require_published(provider)
        found = graph.dependents_of(self.viewer, provider.address, steps=_steps(request))
        return self.page(request, "dependents", found)


class OutdatedUsers(ApiView):
    """For owners: modules that the caller sees whose constraint selects a deprecated or yanked version."""

    http_method_names = ["get", "head"]

    def page(self, request: Request, kind: Kind, parent: Any) -> Response:
        offered = users.offered(kind, parent.namespace_id, parent.address.path_name)
        found = users.outdated_among(users.of(self.viewer, parent.address), offered)
        return Response(page_of(request, "modules", found, _outdated))


def _outdated(one: Outdated) -> dict[str, Any]:
    return {
        "address": str(one.use.address),
        "version": one.use.version,
        "constraint": one.use.asked,
        "gets": one.version,
        "lifecycle": one.lifecycle,
        "fails": one.fails,
    }


class ModuleOutdated(OutdatedUsers):
    @operation(
        "List the modules that are still on deprecated or yanked versions of a module",
        answers={200: contents.OutdatedPage},
        query=CURSOR,
        scope="manage",
    )
    def get(self, request: Request, namespace: str, name: str, system: str) -> Response:
        address = ModuleAddress(namespace, name, system)
        return self.page(request, Kind.MODULE, module_and_role(self.viewer, address, need=Role.OWNER)[0])


class ProviderOutdated(OutdatedUsers):
    @operation(
        "List the modules that are still on deprecated or yanked versions of a provider",
        answers={200: contents.OutdatedPage},
        query=CURSOR,
        scope="manage",
    )
    def get(self, request: Request, namespace: str, type: str) -> Response:  # noqa: A002
        address = ProviderAddress(namespace, type)
        return self.page(request, Kind.PROVIDER, provider_and_role(self.viewer, address, need=Role.OWNER)[0])


_MODULE = "modules/<segment:namespace>/<segment:name>/<segment:system>"
_PROVIDER = "providers/<segment:namespace>/<segment:type>"

urlpatterns = [
    # Before those with <version> in this place.
    path(f"{_MODULE}/dependents", ModuleDependents.as_view(), name="module-dependents"),
    path(f"{_MODULE}/dependencies", ModuleDependencies.as_view(), name="module-dependencies"),
    path(f"{_MODULE}/outdated", ModuleOutdated.as_view(), name="module-outdated"),
    path(f"{_PROVIDER}/dependents", ProviderDependents.as_view(), name="provider-dependents"),
    path(f"{_PROVIDER}/outdated", ProviderOutdated.as_view(), name="provider-outdated"),
]
