"""A published module, and what sends reports about it: Alice publishes, Dora owns acme."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace
from apps.contrib.checks import policy
from apps.contrib.checks.policy import Requirement
from tests.api.conftest import as_described, untouchable
from tests.oci.conftest import repo
from tests.releases.origin.conftest import ci

__all__ = ["as_described", "ci", "repo", "untouchable"]

URL = "/api/v1/modules/acme/vpc/aws/1.2.0/checks"


@pytest.fixture
def send() -> Callable[..., Any]:
    """`send(tofu(alice), b"…", "checkov", digest="sha256:…")`, as `curl --upload-file` does."""

    def put(client: Client, body: bytes, name: str = "checkov", *, url: str = URL, **query: str) -> Any:
        words = "&".join(f"{key}={value}" for key, value in query.items())
        return client.generic("PUT", f"{url}/{name}?{words}", body, content_type="application/octet-stream")

    return put


@pytest.fixture
def require(acme: Namespace, dora: Any) -> Callable[..., None]:
    """Dora requires checks of the releases of acme."""

    def change(*requirements: Requirement, mode: str = "hold", mail_at: str = "") -> None:
        policy.change(namespace=acme, actor=Viewer(dora), mode=mode, requirements=list(requirements), mail_at=mail_at)

    return change
