from collections.abc import Iterator

import pytest

from apps.signing import vault
from apps.signing.models import SigningKey
from tests.providers.desk import Desk, hold, register


@pytest.fixture
def desk(tofu, alice) -> Desk:
    """Alice publishes acme/dns 1.2.0."""
    return Desk(tofu(alice))


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
