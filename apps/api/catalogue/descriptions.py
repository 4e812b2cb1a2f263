"""/api/v1/modules/<ns>/<name>/<system> and /api/v1/providers/<ns>/<type>: the description, repository and notice of a
module or provider, shown by GET and changed by PATCH.
"""

from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField

from apps.accounts.models import Role
from apps.api.frame.base import MODULE, PROVIDER, DetailView, operation, shown
from apps.api.frame.shapes import ModuleNames, ProviderNames, Shape
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Invalid
from apps.modules.catalogue import entries as module_describing
from apps.modules.catalogue.reading import module_and_role, module_for
from apps.modules.models import Module as ModuleRow
from apps.providers import catalogue as provider_describing
from apps.providers.models import Provider as ProviderRow
from apps.providers.reading import provider_and_role, provider_for


class DescriptionInput(serializers.Serializer[Any]):
    # `describing` validates the fields, with the same errors on every way in.

    description = CharField(required=False, allow_blank=True)
    source = CharField(required=False, allow_blank=True)  # type: ignore[assignment]  # a field's name here


class ProviderInput(DescriptionInput):
    notice = CharField(required=False, allow_blank=True)


class Description(Shape):
    description = CharField()
    source = CharField(  # type: ignore[assignment]  # a field's name
        source="source_url", help_text="The address of its repository, or empty."
    )


class Module(Description, ModuleNames):
    pass


class Provider(Description, ProviderNames):
    notice = CharField(help_text="Shown by clients at `init`; empty for none.")


class DescriptionView(DetailView):
    def changes(self) -> dict[str, str]:
        """Keyword arguments of `describe`. Raises Invalid if the body has none of the fields."""
        sent = self.body()
        if not sent:
            names = ", ".join(self.takes().fields)
            raise Invalid("The request changes nothing.", hint=f"Send at least one of these fields: {names}.")
        return {"source_url" if field == "source" else field: value for field, value in sent.items()}


class ModuleDetail(DescriptionView):
    get = shown("Show the description of a module", Module, public=True)

    def row(self, **names: str) -> ModuleRow:
        return module_for(self.viewer, ModuleAddress(**names))

    @operation(
        "Describe a module",
        takes=DescriptionInput,
        answers={200: Module},
        again="Changes nothing.",
        scope="publish",
        idempotent=True,
    )
    def patch(self, request: Request, **names: str) -> Response:  # noqa: ARG002
        """`{"description": "…", "source": "https://…"}`; omitted fields stay unchanged, empty ones are cleared."""
        module, _ = module_and_role(self.viewer, ModuleAddress(**names), need=Role.PUBLISHER)
        module_describing.describe(module=module, actor=self.viewer, **self.changes())
        return self.answer(module)


class ProviderDetail(DescriptionView):
    get = shown("Show the description of a provider", Provider, public=True)

    def row(self, **names: str) -> ProviderRow:
        return provider_for(self.viewer, ProviderAddress(**names))

    @operation(
        "Describe a provider",
        takes=ProviderInput,
        answers={200: Provider},
        again="Changes nothing.",
        scope="publish",
        idempotent=True,
    )
    def patch(self, request: Request, **names: str) -> Response:  # noqa: ARG002
        """`{"notice": "…"}`, `description`, `source`; omitted fields stay unchanged, empty ones are cleared."""
        provider, _ = provider_and_role(self.viewer, ProviderAddress(**names), need=Role.PUBLISHER)
        provider_describing.describe(provider=provider, actor=self.viewer, **self.changes())
        return self.answer(provider)


urlpatterns = [
    path(MODULE, ModuleDetail.as_view(), name="module"),
    path(PROVIDER, ProviderDetail.as_view(), name="provider"),
]
