from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings

from apps.releases.models import Release
from apps.signing import vault
from apps.signing.models import SigningKey
from tests.providers.draft_client import DraftClient, hold, register, work, zips


@pytest.fixture
def draft_client(tofu, alice) -> DraftClient:
    """Alice publishes acme/dns 1.2.0."""
    return DraftClient(tofu(alice))


@pytest.fixture
def registered(acme, dora) -> SigningKey:
    """The public key of acme's publishers."""
    return register(acme, dora)


@pytest.fixture
def held(acme, dora, worker_host) -> SigningKey:
    """The key that the registry signs acme's releases with."""
    return hold(acme, dora)


@pytest.fixture
def waiting(draft_client, held) -> Release:
    """acme/dns 1.2.0, checked and stored; it waits for a signing worker."""
    release = draft_client.hand_over(zips(), protocols=["5.0"])
    vault.lock()
    work()
    vault.unlock()
    release.refresh_from_db()
    assert release.state == "signing"
    return release


@pytest.fixture
def signed_version(draft_client, held) -> Release:
    """acme/dns 1.2.0, published and signed by the registry."""
    assert draft_client.publish(zips(), protocols=["5.0"])["state"] == "published"
    return Release.objects.get()


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
