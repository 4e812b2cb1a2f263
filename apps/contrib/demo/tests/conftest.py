import pytest


@pytest.fixture
def demonstration(settings):
    settings.DEMO = "on"
    return settings
