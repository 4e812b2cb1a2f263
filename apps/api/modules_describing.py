"""/api/v1/modules/<ns>/<name>/<system>: a module's description and repository, shown by GET and changed by PATCH."""

from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate
from apps.accounts.models import Role
from apps.api.base import ApiView
from apps.api.bodies import read_json, validated
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Invalid
from apps.modules.catalogue import describing
from apps.modules.catalogue.reading import module_for
from apps.modules.models import Module


class ModuleInput(serializers.Serializer[Any]):
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

    def get(self, request: Request, namespace: str, name: str, system: str) -> Response:  # noqa: ARG002
        return Response(module_document(module_for(self.viewer, ModuleAddress(namespace, name, system))))

    def patch(self, request: Request, namespace: str, name: str, system: str) -> Response:
        """`{"description": "…", "source": "https://…"}`; omitted fields stay unchanged, empty ones are cleared."""
        self.require_token()
        address = ModuleAddress(namespace, name, system)
        gate.namespace_for(self.viewer, namespace, need=Role.PUBLISHER, only_name=address.path_name)
        module = module_for(self.viewer, address)
        wanted = validated(ModuleInput, read_json(request))
        if not wanted:
            raise Invalid("There is nothing to change.", hint="Send description, source or both.")
        describing.describe(
            module=module,
            actor=self.viewer,
            description=wanted.get("description"),
            source_url=wanted.get("source"),
        )
        return Response(module_document(module))


urlpatterns = [
    path("modules/<segment:namespace>/<segment:name>/<segment:system>", ModuleDetail.as_view(), name="module"),
]
