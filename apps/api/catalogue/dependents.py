"""/api/v1/modules/…/outdated, and that of providers: who still uses old versions."""

from typing import Any

from django.urls import path
from rest_framework.serializers import BooleanField, CharField, ChoiceField

from apps.accounts.models import Role
from apps.api.frame.base import MODULE, PROVIDER, ListView, listed
from apps.api.frame.shapes import Shape, page
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.modules.catalogue.reading import module_and_role
from apps.modules.dependents import users
from apps.modules.dependents.users import Outdated
from apps.providers.reading import provider_and_role
from apps.releases.models import Kind, Lifecycle


class OutdatedUse(Shape):
    # Of an Outdated.
    address = CharField(source="use.address")
    version = CharField(source="use.version", help_text="The default version of the module that uses it.")
    constraint = CharField(
        source="use.asked", help_text="Version constraint. Empty for any, `tag …` for an OCI source."
    )
    gets = CharField(source="version", help_text="The version that is deprecated or yanked.")
    lifecycle = ChoiceField(choices=Lifecycle.values)
    fails = BooleanField(help_text="No listed version matches.")


class OutdatedUsers(ListView):
    """For owners: modules that the caller sees whose constraint selects a deprecated or yanked version."""

    def uses(self, kind: Kind, parent: Any) -> list[Outdated]:
        offered = users.offered(kind, parent.namespace_id, parent.address.path_name)
        return users.outdated_among(users.of(self.viewer, parent.address), offered)


OutdatedPage = page("OutdatedPage", modules=OutdatedUse(many=True))


class ModuleOutdated(OutdatedUsers):
    get = listed(
        "List the modules that are still on deprecated or yanked versions of a module", OutdatedPage, scope="manage"
    )

    def rows(self, **names: str) -> list[Outdated]:
        module, _ = module_and_role(self.viewer, ModuleAddress(**names), need=Role.OWNER)
        return self.uses(Kind.MODULE, module)


class ProviderOutdated(OutdatedUsers):
    get = listed(
        "List the modules that are still on deprecated or yanked versions of a provider", OutdatedPage, scope="manage"
    )

    def rows(self, **names: str) -> list[Outdated]:
        provider, _ = provider_and_role(self.viewer, ProviderAddress(**names), need=Role.OWNER)
        return self.uses(Kind.PROVIDER, provider)


urlpatterns = [
    # Before those with <version> in this place.
    path(f"{MODULE}/outdated", ModuleOutdated.as_view(), name="module-outdated"),
    path(f"{PROVIDER}/outdated", ProviderOutdated.as_view(), name="provider-outdated"),
]
