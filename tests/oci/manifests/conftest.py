"""Clients of one repository each."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.oci.manifests.documents import Repo
from tests.protocol.conftest import golden

__all__ = ["golden"]


@pytest.fixture
def repo(alice: Any, tofu: Callable[..., Client]) -> Callable[..., Repo]:
    """`repo("pantry/vpc/aws")`: Alice, by a token with the scope manage, or somebody else."""

    def client_of(name: str = "pantry/vpc/aws", user: Any = None, **more: Any) -> Repo:
        return Repo(tofu(user or alice, **more), name)

    return client_of
