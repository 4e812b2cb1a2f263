"""Releases whose digests attestations name, and clients that attach these."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Scope, User
from apps.releases.models import Release
from tests.protocol.conftest import golden

__all__ = ["golden"]
HERE = "/api/v1/modules/acme/vpc/aws/1.2.0/attestations"


@pytest.fixture
def release(published: Callable[..., Release]) -> Release:
    """acme/vpc/aws 1.2.0"""
    return published()


@pytest.fixture
def attach(tofu: Callable[..., Client], alice: User) -> Callable[..., Any]:
    def sent(content: bytes, media_type: str = "application/json", user: User | None = alice, **more: Any) -> Any:
        scope, url = more.pop("scope", Scope.MANAGE), more.pop("url", HERE)
        return tofu(user, scope).generic("POST", url, content, content_type=media_type, **more)

    return sent
