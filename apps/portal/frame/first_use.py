"""The live row after something was set up: it waits for the first use, and turns green with it.

For templates/partials/first_use.html, which has the page ask for itself; without a script a reload does the same.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

# A first use is news for so long.
NEWS = timedelta(hours=1)
ROW, PAGE = "#first-use", "#main"


@dataclass(frozen=True, slots=True)
class FirstUse:
    """`waits` says what for; `done` what came, at `at`, or is empty until then. `part` of the page changes with it."""

    page: str
    waits: str
    done: str = ""
    at: datetime | None = None
    link: str = ""
    part: str = PAGE

    @property
    def is_shown(self) -> bool:
        return not self.done or (self.at is not None and self.at > timezone.now() - NEWS)

    def unchanged_for(self, request: HttpRequest) -> HttpResponse | None:
        """Answer a page that asks for itself and has it already: what someone selects there stays selected."""
        is_same = not self.done and request.GET.get("waits") == self.waits
        return HttpResponse(status=HTTPStatus.NO_CONTENT) if is_same else None
