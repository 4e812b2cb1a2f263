from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings

from apps.signing import vault
from apps.signing.models import SigningKey
from tests.providers.draft_client import DraftClient, hold, register


@pytest.fixture
def draft_client(tofu, alice) -> DraftClient:
    """Alice publishes acme/dns 1.2.0."""
    return DraftClient(tofu(alice))


@pytest.fixture
def registered(acme, dora) -> SigningKey:
    """The public key of acme's publishers."""
    return register(acme, dora)


@pytest.fixture
def worker() -> Iterator[None]:
    """This process may sign, as a worker may."""
    vault.unlock()
    yield
    vault.lock()


@pytest.fixture
def held(acme, dora, worker) -> SigningKey:
    """The key that the registry signs acme's releases with."""
    return hold(acme, dora)


@pytest.fixture
def damage() -> Callable[[str], None]:
    """Changes one byte of a blob in storage."""

    def change(digest: str) -> None:
        path = Path(settings.DATA_DIR) / "blobs" / "sha256" / digest[:2] / digest
        path.chmod(0o600)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)

    return change
