from collections.abc import Iterator

import pytest

from tests.site.front.asking import Process


@pytest.fixture
def process(db: None) -> Iterator[Process]:
    one = Process()
    yield one
    one.end()
