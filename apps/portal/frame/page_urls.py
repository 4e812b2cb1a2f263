"""URLs of pages: of modules and providers for code that serves both, where a form asks to be led
afterwards, and page numbers: `?page=3`.
"""

from collections.abc import Iterable
from dataclasses import astuple
from http import HTTPStatus
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.http import url_has_allowed_host_and_scheme

from apps.admin_base.counting import bounded_count
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


class NumberedPage(Page[Any]):
    @property
    def numbers(self) -> Iterable[int | str]:
        """1 … 4 5 6 … 20, for templates/partials/pages.html."""
        return self.paginator.get_elided_page_range(self.number, on_each_side=2, on_ends=1)


class NumberedPaginator(Paginator[Any]):
    """Reaches the first 10,000 rows of a table; search and filters reach the rest."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        return bounded_count(rows) if isinstance(rows, QuerySet) else len(rows)

    def _get_page(self, *args: Any, **kwargs: Any) -> NumberedPage:
        return NumberedPage(*args, **kwargs)


def page_of(rows: QuerySet[Any] | list[Any], request: HttpRequest, *, size: int) -> NumberedPage:
    """The page in the URL; the nearest one if it does not exist."""
    page = NumberedPaginator(rows, size).get_page(request.GET.get("page"))
    assert isinstance(page, NumberedPage)  # noqa: S101  # says _get_page
    return page
