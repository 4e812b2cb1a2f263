from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.api.tus_client import TusClient
from tests.builders.archives import module_zip

VERSION = "/api/v1/modules/acme/vpc/aws/1.2.0"
ARCHIVE = module_zip(comment=b"in pieces")
HALF = len(ARCHIVE) // 2


class Sender(TusClient):
    def begin(self, url: str = f"{VERSION}/uploads", length: int = len(ARCHIVE), **headers: str) -> Any:
        return super().begin(url, length, **headers)


@pytest.fixture
def sender(tofu: Callable[..., Client], alice: Any) -> Sender:
    return Sender(tofu(alice))


@pytest.fixture
def url(sender: Sender) -> str:
    """Of an upload that Alice has begun."""
    return str(sender.begin().headers["Location"])


def error_of(answer: Any) -> dict[str, Any]:
    return dict(answer.json()["error"])
