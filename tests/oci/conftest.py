"""Uploaders of blobs and clients of one repository each, for tests through HTTP."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Scope, User
from tests.oci.manifests.documents import Repo
from tests.oci.uploading import NAME, Uploader
from tests.protocol.conftest import golden

__all__ = ["golden"]


@pytest.fixture
def uploader_of(bearer: Callable[..., dict[str, str]]) -> Callable[..., Uploader]:
    """`uploader_of(alice)`: her client, with a token of her own, in acme/vpc/aws."""

    def made(user: User | None, scope: Scope = Scope.MANAGE, name: str = NAME) -> Uploader:
        return Uploader(Client(raise_request_exception=False, headers=bearer(user, scope)), name)

    return made


@pytest.fixture
def uploader(alice: User, uploader_of: Callable[..., Uploader]) -> Uploader:
    return uploader_of(alice)


@pytest.fixture
def repo(alice: Any, tofu: Callable[..., Client]) -> Callable[..., Repo]:
    """`repo("pantry/vpc/aws")`: Alice, by a token with the scope manage, or somebody else."""

    def client_of(name: str = "pantry/vpc/aws", user: Any = None, **more: Any) -> Repo:
        return Repo(tofu(user or alice, **more), name)

    return client_of
