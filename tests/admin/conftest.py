import pytest


@pytest.fixture
def operator_client(browser_of, olga):
    """The admin as Olga sees it."""
    return browser_of(olga)
