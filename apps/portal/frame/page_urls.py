"""URLs of modules' and providers' pages, for code that serves both."""

from dataclasses import astuple

from django.urls import reverse

from apps.lib.addresses import ModuleAddress, ProviderAddress

Address = ModuleAddress | ProviderAddress


def kind_of(address: Address) -> str:
    return "module" if isinstance(address, ModuleAddress) else "provider"


def url_of(address: Address, page: str = "", *more: str) -> str:
    """The `page` (`version`, `versions`, `lifecycle`, …) of the module or provider; its own page by default."""
    name = f"{kind_of(address)}-{page}" if page else kind_of(address)
    return reverse(f"portal:{name}", args=[*astuple(address), *more])
