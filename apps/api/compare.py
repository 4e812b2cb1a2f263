"""/api/v1/modules/…/compare/1.2.0...2.0.0, and of providers: what differs between two versions, and whom it breaks."""

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.frame import contents
from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.modules.comparing import versions as modules
from apps.providers import comparing as providers


class ModuleComparison(ApiView):
    """Yanked versions included."""

    http_method_names = ["get", "head"]

    @operation("Compare two versions of a module", answers={200: contents.ModuleComparison}, public=True)
    def get(self, request: Request, namespace: str, name: str, system: str, numbers: str) -> Response:  # noqa: ARG002
        found = modules.compare(self.viewer, ModuleAddress(namespace, name, system), numbers)
        return Response(found.document())


class ProviderComparison(ApiView):
    """Yanked versions included."""

    http_method_names = ["get", "head"]

    @operation("Compare two versions of a provider", answers={200: contents.ProviderComparison}, public=True)
    def get(self, request: Request, namespace: str, type: str, numbers: str) -> Response:  # noqa: A002, ARG002
        return Response(providers.compare(self.viewer, ProviderAddress(namespace, type), numbers).document())


urlpatterns = [
    path(
        "modules/<segment:namespace>/<segment:name>/<segment:system>/compare/<segment:numbers>",
        ModuleComparison.as_view(),
        name="module-compare",
    ),
    path(
        "providers/<segment:namespace>/<segment:type>/compare/<segment:numbers>",
        ProviderComparison.as_view(),
        name="provider-compare",
    ),
]
