"""One test for many rows of one table, where a case for each would cost more than what it tests.

`@for_each_row("given, expected", [...])` takes what `pytest.mark.parametrize` takes. Every row is tried, whatever
became of the others, and a failure names its row. Rows share the fixtures of the test, but no row sees what another one
did to the database. Use `parametrize` where each row needs a file system, a storage or a process of its own, or a mark.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection, transaction

Row = tuple[str, dict[str, Any]]
Ids = Iterable[str] | Callable[[Any], str | None] | None


def for_each_row(
    names: str | Sequence[str], values: Iterable[Any], *, ids: Ids = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a test. Used twice on one test, each row of one table meets each row of the other."""
    wanted = [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else list(names)
    table = list(named(wanted, list(values), ids))
    assert table, "a table without rows tests nothing"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        tables: list[list[Row]] = [*getattr(test, "row_tables", []), table]
        inner: Callable[..., None] = getattr(test, "row_test", test)
        known = inspect.signature(test).parameters.values()
        asked = [each for each in known if each.name not in {*wanted, "subtests"}]

        def each_row(subtests: pytest.Subtests, **fixtures: Any) -> None:
            for chosen in product(*reversed(tables)):
                label = "-".join(name for name, _ in chosen)
                arguments = {name: value for _, row in chosen for name, value in row.items()}
                with subtests.test(label), undone():
                    inner(**fixtures, **arguments)

        own = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
        vars(each_row).update(vars(test), row_tables=tables, row_test=inner, __wrapped__=inner)
        each_row.__name__, each_row.__doc__, each_row.__module__ = test.__name__, test.__doc__, test.__module__
        parameters = [own, *(each.replace(kind=own.kind) for each in asked)]
        each_row.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return each_row

    return decorate


def named(names: list[str], values: list[Any], ids: Ids) -> Iterator[Row]:
    """Name the rows like pytest: by `ids`, by the id of a `pytest.param`, or by what is in the row."""
    given = list(ids) if ids is not None and not callable(ids) else []
    for number, value in enumerate(values):
        label = given[number] if given else None
        if isinstance(value, type(pytest.param())):
            assert not value.marks, "a row has no marks of its own: use pytest.mark.parametrize"
            label = str(value.id) if value.id is not None else label
            row = value.values
        else:
            row = (value,) if len(names) == 1 else tuple(value)
        assert len(row) == len(names), f"row {number}: {len(row)} values for {', '.join(names)}"
        if callable(ids):
            label = "-".join(ids(each) or repr(each) for each in row)
        yield label or ", ".join(short(each) for each in row), dict(zip(names, row, strict=True))


def short(value: Any) -> str:
    text = getattr(value, "__name__", None) or (value if isinstance(value, str) else repr(value))
    return text if len(text) <= 60 else f"{text[:59]}…"


@contextmanager
def undone() -> Iterator[None]:
    """Take back what happens to the database, where the test has one transaction of its own."""
    if not connection.in_atomic_block:
        yield
        return
    block: Any = transaction.atomic()
    block._from_testcase = True  # as that of Django's TestCase: a durable block may be inside
    with block:
        yield
        transaction.set_rollback(True)
    cache.clear()  # it may have what the next row's person of the same number does not
