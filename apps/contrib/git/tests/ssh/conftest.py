"""A repository of a real sshd on loopback, which does not know Larder's key yet, and Dora's browser and token."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Namespace, User
from apps.contrib.git.models import GitRepository
from apps.contrib.git.tests.api.conftest import call
from apps.contrib.git.tests.conftest import module, work_off
from apps.contrib.git.tests.pages.conftest import LIST, fields_of
from apps.contrib.git.tests.remote.conftest import refusal
from apps.lib.settings_values.outgoing import Outgoing
from tests import pages
from tests.builders.git_daemons import SshSite, ssh_site
from tests.builders.git_servers import LOOPBACK, Repository, ssh_key
from tests.needs import needs

__all__ = ["call", "refusal"]

NAME = "acme/terraform-aws-vpc"


@pytest.fixture
def confinement() -> None:
    """That of production."""


@pytest.fixture(scope="session")
@needs("ssh")
def own_keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Host keys in the form that Debian makes."""
    folder = tmp_path_factory.mktemp("host-keys")
    return tuple(ssh_key(folder / kind, kind=kind) for kind in ("ed25519", "ecdsa", "rsa"))


@pytest.fixture(autouse=True)
def allowed(settings: Any) -> None:
    settings.SOURCES = Outgoing(allow=(*LOOPBACK, ip_network("::1/128")))


Serve = Callable[..., AbstractContextManager[SshSite]]


@pytest.fixture
@needs("git", "ssh", "sshd")
def serve(tmp_path: Path, own_keys: tuple[Path, ...]) -> Serve:
    """`serve(port=…, own=…)`: the same repositories and authorized keys each time."""
    folder = tmp_path / "ssh"
    folder.mkdir()
    (folder / "authorized_keys").touch()

    def serving(**given: Any) -> AbstractContextManager[SshSite]:
        return ssh_site(folder, **{"own": own_keys, **given})

    return serving


@pytest.fixture
def sshd(serve: Serve) -> Iterator[SshSite]:
    with serve() as site:
        yield site


def vpc(site: SshSite, name: str = NAME) -> Repository:
    """A module whose v1.0.0 is tagged, and a tag that is no version."""
    found = site.repository(name)
    found.commit(module("first"))
    found.tag("v1.0.0", message="First")
    found.tag("nightly")
    return found


@dataclass
class Portal:
    """The steps of Dora on the pages, beginning with the form."""

    client: Client

    def connect(self, url: str, kind: str = "deploy_key") -> Any:
        return self.client.post(f"{LIST}/connect", {"url": url, "kind": kind})

    def connected(self, url: str, kind: str = "deploy_key") -> GitRepository:
        """And the worker has asked the server for its host keys."""
        answer = self.connect(url, kind)
        assert answer.status_code == 303, answer.text
        work_off()
        return GitRepository.objects.get(ended_at=None)

    def scan(self, repository: GitRepository) -> str:
        """Press the button that has a worker ask for the host keys; return the page that shows them."""
        answer = self.client.post(f"{LIST}/{repository.pk}/scan")
        assert answer.status_code == 303, answer.text
        work_off()
        page: Any = self.client.get(answer.headers["Location"])
        return pages.shown(page)

    def look(self, repository: GitRepository) -> GitRepository:
        """Press the button, and have a worker look."""
        answer = self.client.post(f"{LIST}/{repository.pk}/look")
        assert answer.headers["Location"] == f"{LIST}/{repository.pk}/plan"
        work_off()
        repository.refresh_from_db()
        return repository

    def publish(self, repository: GitRepository) -> dict[str, str]:
        """Publish the suggested plan; return what became of each tag."""
        plan = f"{LIST}/{repository.pk}/plan"
        page: Any = self.client.get(plan)
        fields = fields_of(page)
        answer = self.client.post(plan, fields | {"act": "publish"})
        assert answer.headers["Location"] == f"{LIST}/{repository.pk}", answer.text
        work_off()
        return verdicts(repository)

    def sync(self, repository: GitRepository) -> dict[str, str]:
        self.client.post(f"{LIST}/{repository.pk}/sync")
        work_off()
        repository.refresh_from_db()
        return verdicts(repository)


def verdicts(repository: GitRepository) -> dict[str, str]:
    return {row.name: row.shown for row in repository.tags.with_shown()}


@pytest.fixture
def portal(dora: User, acme: Namespace, browser_of: Callable[..., Client]) -> Portal:
    return Portal(browser_of(dora))
