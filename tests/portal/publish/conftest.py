import pytest
from django.test import Client

JSON = {"Accept": "application/json"}
NEW = {"module": "new", "namespace": "acme", "name": "vpc", "system": "aws", "version": "1.2.0"}


@pytest.fixture
def browser(alice, browser_of) -> Client:
    return browser_of(alice)
