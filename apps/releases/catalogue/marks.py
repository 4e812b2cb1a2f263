"""The few words that rooms say about a release: in lists, on its page, in a badge and to assistants."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """`name` is that of its badge, `tone` is ok, warn or bad, and `page` the tab of the version that says more, about
    `count` things.
    """

    name: str
    text: str
    tone: str
    page: str
    count: int | None = None


# Each returns its marks by the numbers of published releases, in one query. By registry_site/wiring.py.
sources: tuple[Callable[[Iterable[int]], Mapping[int, Mark]], ...] = ()


def of(releases: Iterable[int]) -> dict[int, list[Mark]]:
    numbers = list(releases)
    found: dict[int, list[Mark]] = {number: [] for number in numbers}
    for source in sources if numbers else ():
        for number, mark in source(numbers).items():
            found[number].append(mark)
    return found
