"""Who pulls and who pushes packages."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.oci.manifests.documents import Repo
from tests.protocol.conftest import frozen_zip, golden

__all__ = ["frozen_zip", "golden"]


@pytest.fixture
def pusher(alice: Any, tofu: Callable[..., Client]) -> Callable[..., Repo]:
    """`pusher("pantry/vpc/aws")`: Alice, by a token with the scope manage, or somebody else."""

    def client_of(name: str = "pantry/vpc/aws", user: Any = None, **more: Any) -> Repo:
        return Repo(tofu(user or alice, **more), name)

    return client_of


@pytest.fixture
def anybody(tofu: Callable[..., Client], pantry: Any) -> Repo:
    """Who pulls from the public namespace without any token."""
    return Repo(tofu(), "pantry/vpc/aws")
