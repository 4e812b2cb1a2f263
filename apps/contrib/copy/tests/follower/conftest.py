import pytest

from apps.contrib.copy.settings_values import Edge, Follow
from apps.contrib.copy.tests import leaders


@pytest.fixture
def leader(settings, tmp_path):
    """A leader with a public and a private module, and the settings of a Larder that follows it."""
    with leaders.running() as running:
        running.module("demo/vpc/aws", "1.0.0")
        running.module("acme/vpc/aws", "1.0.0", is_public=False)
        running.publish()
        running.readers["acme"] = "Bearer bob"
        settings.DATA_DIR = tmp_path
        settings.FOLLOW = Follow(url=running.url, token="staff")
        settings.COPY_EDGE = Edge(60, 24, "")
        yield running
