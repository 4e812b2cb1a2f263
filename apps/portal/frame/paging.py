"""Page numbers in the URL: `?page=3`."""

from collections.abc import Iterable
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest


class NumberedPage(Page[Any]):
    @property
    def numbers(self) -> Iterable[int | str]:
        """1 … 4 5 6 … 20, for templates/partials/pages.html."""
        return self.paginator.get_elided_page_range(self.number, on_each_side=2, on_ends=1)


class NumberedPaginator(Paginator[Any]):
    def _get_page(self, *args: Any, **kwargs: Any) -> NumberedPage:
        return NumberedPage(*args, **kwargs)


def page_of(rows: QuerySet[Any] | list[Any], request: HttpRequest, *, size: int) -> NumberedPage:
    """The page in the URL; the nearest one if it does not exist."""
    page = NumberedPaginator(rows, size).get_page(request.GET.get("page"))
    assert isinstance(page, NumberedPage)  # noqa: S101  # says _get_page
    return page
