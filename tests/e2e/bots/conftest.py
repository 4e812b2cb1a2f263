import pytest

from tests.e2e.pages import Registry


@pytest.fixture(scope="package")
def registry(example: Registry) -> Registry:
    return example
