"""AWS KMS (moto's), a Vault-shaped server, and keys of the registry under them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.accounts.models import Namespace
from apps.contrib.kms.addresses import KINDS
from apps.contrib.kms.tests import servers
from apps.contrib.kms.tests.servers import Aws, Use
from apps.contrib.kms.tests.vault_server import TOKEN, FakeVault, vault_server
from apps.lib.settings_values.kek_urls import parse_all
from apps.signing import kms
from apps.signing.models import SigningKey
from tests import s3
from tests.builders.held import held_key
from tests.providers.conftest import draft_client, held, waiting
from tests.signing.conftest import make_keys, owner

__all__ = ["draft_client", "held", "make_keys", "owner", "waiting"]


@pytest.fixture(scope="session")
def moto() -> Iterator[Aws]:
    with servers.aws() as aws:
        yield aws


@pytest.fixture
def aws(moto: Aws, monkeypatch: pytest.MonkeyPatch) -> Aws:
    for name, value in s3.KEYS.items():
        monkeypatch.setenv(name, value)
    return moto


@pytest.fixture
def bao() -> Iterator[FakeVault]:
    with vault_server() as fake:
        yield fake


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    return tmp_path / "token"


@pytest.fixture
def use(settings, worker_host: None) -> Use:
    """Become a worker with these key-encryption keys, just started."""

    def become(*urls: str) -> None:
        settings.SIGNING_KEKS = parse_all(urls, KINDS)
        kms.forget()

    return become


@pytest.fixture
def key(use: Use, bao: FakeVault, token_file: Path, acme: Namespace) -> SigningKey:
    """In the registry, under a key of Vault."""
    use(bao.url(token_file))
    return held_key(acme)


@pytest.fixture(params=["aws", "vault"])
def service(request: pytest.FixtureRequest) -> str:
    """The address of a key in each kind of service."""
    if request.param == "aws":
        return str(request.getfixturevalue("aws").url("larder"))
    return str(request.getfixturevalue("bao").url(request.getfixturevalue("token_file")))
