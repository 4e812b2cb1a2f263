from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, User
from apps.jobs.models import Job
from apps.lib.settings_values import kek_urls
from apps.signing import gnupg_home, keys, kms
from apps.signing.models import SigningKey
from apps.signing.tasks import make_signing_key
from tests import key_services, s3
from tests.builders.held import held_key
from tests.key_services import Aws, Use
from tests.lib.sandbox.processes import commands
from tests.vault_server import TOKEN, FakeVault, vault_server


@pytest.fixture
def owner(dora: User) -> Viewer:
    return Viewer(dora)


@pytest.fixture
def make_keys() -> Callable[[], None]:
    """Do what a worker would with each request for a key."""

    def run() -> None:
        for job in Job.objects.filter(kind=keys.JOB, state="queued").order_by("pk"):
            make_signing_key(job_id=job.pk)

    return run


@pytest.fixture(scope="session")
def moto() -> Iterator[Aws]:
    with key_services.aws() as aws:
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
        settings.SIGNING_KEKS = kek_urls.parse_all(urls)
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


def homes_of(process: int) -> list[Path]:
    return sorted(gnupg_home.base().glob(f"larder-gpg-{process}-*"))


def agents_in(marks: str) -> list[str]:
    """The command lines of running agents that name it."""
    return [command for command in commands() if "gpg-agent" in command and marks in command]
