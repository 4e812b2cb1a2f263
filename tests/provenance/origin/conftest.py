"""Publishing, and the Origin document and page of what was published."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Namespace, Visibility
from apps.releases.origin.models import Origin
from tests.builders.ci_claims import GITHUB_ISSUER
from tests.releases.origin.conftest import (
    as_described,
    ci,
    draft_client,
    held,
    registered,
    send,
)

__all__ = [
    "as_described",
    "ci",
    "draft_client",
    "held",
    "registered",
    "send",
]
MODULE = "/api/v1/modules/acme/vpc/aws"
PAGE = "/modules/acme/vpc/aws"


@pytest.fixture
def told() -> Callable[..., dict[str, Any]]:
    """The Origin document of a module version."""

    def read(client: Client, version: str = "1.2.0", url: str = MODULE) -> dict[str, Any]:
        answer = client.get(f"{url}/{version}/origin")
        assert answer.status_code == 200, answer.content
        document: dict[str, Any] = answer.json()
        return document

    return read


def differences(document: dict[str, Any]) -> dict[str, str]:
    return {one["code"]: one["sentence"] for one in document["differences"]}


def open_to_all(namespace: Namespace) -> None:
    Namespace.objects.filter(pk=namespace.pk).update(visibility=Visibility.PUBLIC)


def as_of_github() -> None:
    """The issuers of tests are on loopback, whose pages no link leads to."""
    Origin.objects.exclude(vendor="").update(issuer=GITHUB_ISSUER)
