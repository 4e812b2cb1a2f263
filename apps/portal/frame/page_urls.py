"""URLs of pages: of modules and providers for code that serves both, and where a form asks to be led afterwards."""

from dataclasses import astuple
from http import HTTPStatus

from django.http import HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from apps.lib.addresses import ModuleAddress, ProviderAddress

Address = ModuleAddress | ProviderAddress


def kind_of(address: Address) -> str:
    return "module" if isinstance(address, ModuleAddress) else "provider"


def url_of(address: Address, page: str = "", *more: str) -> str:
    """The `page` (`version`, `versions`, `lifecycle`, …) of the module or provider; its own page by default."""
    name = f"{kind_of(address)}-{page}" if page else kind_of(address)
    return reverse(f"portal:{name}", args=[*astuple(address), *more])


def local_path(wanted: str) -> str:
    """The path, empty for another site and for a relative one, which would depend on the page that leads there."""
    return wanted if wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None) else ""


def see_other(page: str, *where: object) -> HttpResponseRedirect:
    """To a page of the portal after a POST: a reload does not post again."""
    return HttpResponseRedirect(reverse(f"portal:{page}", args=where), status=HTTPStatus.SEE_OTHER)
