"""The ranking of matches: the costs of the words, less the worth of a document's usage. The lowest comes first.

Usage changes the order of descriptions and of what is declared, or of two names that contain the word. It never lifts
either above a name, or a name above the exact one: its worth is less than the steps between those.
"""

from collections.abc import Mapping

from django.db.models import Case, Expression, IntegerField, Value, When

from apps.lib.text.search_terms import cut
from apps.releases.catalogue import indexing

EXACT, BEGINS, INSIDE = 0, 40, 50  # the word is the name, begins it, begins a part of it
DECLARED, WRITTEN = 110, 150
# A better place costs no more.
COSTS: Mapping[int, int] = {
    indexing.NAME: INSIDE,
    indexing.PLACE: INSIDE,
    indexing.DESCRIPTION: 90,
    **dict.fromkeys(indexing.DECLARED, DECLARED),
    indexing.README: WRITTEN,
}
# Each is worth a step: the tenth download, the hundredth, …, the millionth.
_FIGURES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
_STEP = 5


def as_one_name(words: list[str]) -> list[str]:
    """The whole query as one name: `nat gateway` is `nat_gateway` or `nat-gateway`. None for a single word."""
    name = cut("_".join(words)).replace("-", "_")
    return [name, name.replace("_", "-")] if len(words) > 1 else []


def worth(downloads: int) -> int:
    return _STEP * sum(downloads >= figure for figure in _FIGURES)


def worth_in_sql() -> Expression:
    """The same of the column, in whole numbers: logarithms differ between databases."""
    steps = [When(downloads__gte=figure, then=Value(worth(figure))) for figure in reversed(_FIGURES)]
    return Case(*steps, default=Value(0), output_field=IntegerField())
