"""A pusher of manifests and blobs, for tests through HTTP."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.oci.pushing import Pusher
from tests.protocol.conftest import golden

__all__ = ["golden"]


@pytest.fixture
def pusher(alice: Any, tofu: Callable[..., Client]) -> Callable[..., Pusher]:
    """`pusher("pantry/vpc/aws")`: Alice, by a token with the scope manage."""
    return lambda name="pantry/vpc/aws", user=None, **more: Pusher(tofu(user or alice, **more), name)
