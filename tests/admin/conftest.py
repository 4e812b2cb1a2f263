import pytest


@pytest.fixture
def desk(browser_of, olga):
    """The admin as Olga sees it."""
    return browser_of(olga)
