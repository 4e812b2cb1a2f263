"""Work for several children at once: what each of them gets, and the one file in which all of them find it."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO, TypeVar

from apps.lib.sandbox.positioned import Place

MAX_CHILDREN = 4

Item = TypeVar("Item")


def shares_of(items: Iterable[Item], size: Callable[[Item], int], *, least: int) -> list[list[Item]]:
    """Divide the items into as many shares as there are cores, at most MAX_CHILDREN; fewer if they come to less than
    `least` for each.

    The largest items are given out first, each to the smallest share; within a share the order is that of `items`.
    """
    sized = [(size(item), number, item) for number, item in enumerate(items)]
    count = min(os.cpu_count() or 1, MAX_CHILDREN, sum(one for one, _, _ in sized) // least + 1)
    shares: list[list[tuple[int, Item]]] = [[] for _ in range(count)]
    held = [0] * count
    for one, number, item in sorted(sized, key=lambda entry: -entry[0]):
        to = held.index(min(held))
        shares[to].append((number, item))
        held[to] += one
    return [[item for _, item in sorted(share, key=lambda pair: pair[0])] for share in shares]


@contextmanager
def one_file(texts: Mapping[str, bytes]) -> Iterator[tuple[BinaryIO, dict[str, Place]]]:
    """The texts in a temporary file, and the place of each, for `positioned.texts_at`."""
    places = {}
    at = 0
    for name, text in texts.items():
        places[name] = name, at, len(text)
        at += len(text)
    with tempfile.TemporaryFile() as file:
        file.writelines(texts.values())
        file.flush()
        yield file, places
