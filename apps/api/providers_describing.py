"""/api/v1/providers/<ns>/<type>: a provider's description, repository and notice, shown by GET and changed by PATCH."""

from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate
from apps.accounts.models import Role
from apps.api.base import ApiView
from apps.api.bodies import read_json, validated
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import Invalid
from apps.providers import describing
from apps.providers.models import Provider
from apps.providers.reading import provider_for


class ProviderInput(serializers.Serializer[Any]):
    """`describing` validates the fields, with the same errors on every way in."""

    description = serializers.CharField(required=False, allow_blank=True)
    source = serializers.CharField(required=False, allow_blank=True)  # type: ignore[assignment]  # a field's name here
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

    def get(self, request: Request, namespace: str, type: str) -> Response:  # noqa: A002, ARG002
        return Response(provider_document(provider_for(self.viewer, ProviderAddress(namespace, type))))

    def patch(self, request: Request, namespace: str, type: str) -> Response:  # noqa: A002
        """`{"notice": "…"}`, `description`, `source`; omitted fields stay unchanged, empty ones are cleared."""
        self.require_token()
        address = ProviderAddress(namespace, type)
        gate.namespace_for(self.viewer, namespace, need=Role.PUBLISHER, only_name=address.path_name)
        provider = provider_for(self.viewer, address)
        wanted = validated(ProviderInput, read_json(request))
        if not wanted:
            raise Invalid("There is nothing to change.", hint="Send description, source or notice.")
        changes = {"source_url" if field == "source" else field: value for field, value in wanted.items()}
        describing.describe(provider=provider, actor=self.viewer, **changes)
        return Response(provider_document(provider))


urlpatterns = [path("providers/<segment:namespace>/<segment:type>", ProviderDetail.as_view(), name="provider")]
