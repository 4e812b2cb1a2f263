"""/api/v1/modules/<ns>/<name>/<system> and /api/v1/providers/<ns>/<type>: the description, repository and notice of a
module or provider, shown by GET and changed by PATCH.
"""

from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Role
from apps.api.frame import shapes
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_json, validated
from apps.api.frame.operations import operation
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Invalid
from apps.modules.catalogue import entries as module_describing
from apps.modules.catalogue.reading import module_and_role, module_for
from apps.modules.models import Module
from apps.providers import catalogue as provider_describing
from apps.providers.models import Provider
from apps.providers.reading import provider_and_role, provider_for


class DescriptionInput(serializers.Serializer[Any]):
    """`describing` validates the fields, with the same errors on every way in."""

    description = serializers.CharField(required=False, allow_blank=True)
    source = serializers.CharField(required=False, allow_blank=True)  # type: ignore[assignment]  # a field's name here


def module_document(module: Module) -> dict[str, str]:
    return {
        "namespace": module.namespace.name,
        "name": module.name,
        "system": module.system,
        "description": module.description,
        "source": module.source_url,
    }


class ModuleDetail(ApiView):
    http_method_names = ["get", "head", "patch"]

    @operation("Show what a module says of itself", answers={200: shapes.Module}, public=True)
    def get(self, request: Request, namespace: str, name: str, system: str) -> Response:  # noqa: ARG002
        return Response(module_document(module_for(self.viewer, ModuleAddress(namespace, name, system))))

    @operation(
        "Describe a module",
        takes=DescriptionInput,
        answers={200: shapes.Module},
        again="Changes nothing.",
        scope="publish",
        idempotent=True,
    )
    def patch(self, request: Request, namespace: str, name: str, system: str) -> Response:
        """`{"description": "…", "source": "https://…"}`; omitted fields stay unchanged, empty ones are cleared."""
        self.require_token()
        address = ModuleAddress(namespace, name, system)
        module, _ = module_and_role(self.viewer, address, need=Role.PUBLISHER)
        module_describing.describe(module=module, actor=self.viewer, **_changes(request, DescriptionInput))
        return Response(module_document(module))


class ProviderInput(DescriptionInput):
    notice = serializers.CharField(required=False, allow_blank=True)


def provider_document(provider: Provider) -> dict[str, str]:
    return {
        "namespace": provider.namespace.name,
        "type": provider.type,
        "description": provider.description,
        "source": provider.source_url,
        "notice": provider.notice,
    }


class ProviderDetail(ApiView):
    http_method_names = ["get", "head", "patch"]

    @operation("Show what a provider says of itself", answers={200: shapes.Provider}, public=True)
    def get(self, request: Request, namespace: str, type: str) -> Response:  # noqa: A002, ARG002
        return Response(provider_document(provider_for(self.viewer, ProviderAddress(namespace, type))))

    @operation(
        "Describe a provider",
        takes=ProviderInput,
        answers={200: shapes.Provider},
        again="Changes nothing.",
        scope="publish",
        idempotent=True,
    )
    def patch(self, request: Request, namespace: str, type: str) -> Response:  # noqa: A002
        """`{"notice": "…"}`, `description`, `source`; omitted fields stay unchanged, empty ones are cleared."""
        self.require_token()
        address = ProviderAddress(namespace, type)
        provider, _ = provider_and_role(self.viewer, address, need=Role.PUBLISHER)
        provider_describing.describe(provider=provider, actor=self.viewer, **_changes(request, ProviderInput))
        return Response(provider_document(provider))


def _changes(request: Request, fields: type[DescriptionInput]) -> dict[str, str]:
    """Keyword arguments of `describe`. Raises Invalid if the body has none of the fields."""
    sent = validated(fields, read_json(request))
    if not sent:
        names = ", ".join(fields().fields)
        raise Invalid("There is nothing to change.", hint=f"Send at least one of these fields: {names}.")
    return {"source_url" if field == "source" else field: value for field, value in sent.items()}


urlpatterns = [
    path("modules/<segment:namespace>/<segment:name>/<segment:system>", ModuleDetail.as_view(), name="module"),
    path("providers/<segment:namespace>/<segment:type>", ProviderDetail.as_view(), name="provider"),
]
