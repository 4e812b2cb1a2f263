"""The live row after something was set up: it waits for the first use, and turns green with it.

For templates/partials/first_use.html, which has the page ask for itself; without a script a reload does the same.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

# A first use is news for so long.
NEWS = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class FirstUse:
    """`waits` says what for; `done` what came, at `at`, or is empty until then."""

    page: str
    waits: str
    done: str = ""
    at: datetime | None = None
    link: str = ""

    @property
    def is_shown(self) -> bool:
        return not self.done or (self.at is not None and self.at > timezone.now() - NEWS)
