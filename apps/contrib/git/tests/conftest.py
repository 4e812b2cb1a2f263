"""Repositories on a real Git server, connected to acme by Dora, and a worker in this process."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, User
from apps.audit.models import AuditEvent
from apps.contrib.git import connecting, syncing, tasks, verdicts
from apps.contrib.git.models import GitRepository, Tag
from apps.contrib.git.remote import children as git_children
from apps.jobs.models import Job
from apps.modules.tasks import publish_module
from tests import children
from tests.builders.git_servers import Repository, Site, git_site
from tests.sessions import in_browser

URL = "acme/terraform-aws-vpc"
RULES = [{"tag": "v{version}", "folder": "", "module": "vpc/aws"}]


def module(comment: str = "", **files: str) -> dict[str, str]:
    return {"main.tf": f'# {comment}\nvariable "name" {{\n  type = string\n}}\n', "README.md": "# VPC\n", **files}


def _unconfined(_: str, orders: dict[str, Any], *, environment: Any, folder: str, files: int) -> Any:
    words, given = orders["words"], dict(environment)
    return subprocess.Popen(words, stdin=files, stdout=files, stderr=files, env=given, cwd=folder, process_group=0)


@pytest.fixture(autouse=True)
def confinement(monkeypatch: pytest.MonkeyPatch) -> None:
    """None: a publication starts nine children, and the launcher of each takes longer than git. `remote` has it."""
    monkeypatch.setattr(git_children, "interpreters", SimpleNamespace(started=_unconfined))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with git_site(tmp_path_factory.mktemp("git")) as site:
        yield site


@pytest.fixture
def site(server: Site, settings: Any, tmp_path: Path) -> Iterator[Site]:
    """Empty, and allowed."""
    server.folder = tmp_path / "repositories"
    settings.SOURCES = server.settings
    yield server
    server.is_down, server.answer, server.token = False, None, ""
    server.requests.clear()


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one module and one commit, of which each test gets a copy."""
    path = tmp_path_factory.mktemp("first") / "vpc.git"
    Repository(path).commit(module("first"))
    return path


@pytest.fixture
def upstream(site: Site, first: Path) -> Repository:
    """A repository with one module."""
    shutil.copytree(first, site.folder / f"{URL}.git")
    return site.repository(URL)


def work_off(*, most: int = 200) -> int:
    """Do what workers would: jobs of Git and of the pipeline, until none is left; return how many."""
    for done in range(most):
        job = Job.objects.claimable().filter(kind__in=[*tasks.WORKS, "publish-module"]).order_by("pk").first()
        if job is None:
            return done
        with children.remembered():
            if job.kind == "publish-module":
                publish_module(job_id=job.pk)
            else:
                tasks.run_here(job.pk)
    raise AssertionError(f"more than {most} jobs")


@dataclass
class Git:
    """A connected repository. `sync` lists and publishes; `shown` says what became of each tag."""

    repository: GitRepository
    actor: Viewer

    def sync(self, tags: list[str] | None = None) -> dict[str, str]:
        syncing.sync(repository=self.repository, actor=self.actor, tags=tags)
        work_off()
        self.repository.refresh_from_db()
        return self.shown

    def tag(self, name: str, module: str = "vpc/aws") -> Tag:
        return verdicts.tags_of(self.repository).get(name=name, module=module)

    def reason(self, name: str, module: str = "vpc/aws") -> str:
        return verdicts.reason_of(self.tag(name, module))

    def retry(self, name: str, module: str = "vpc/aws") -> dict[str, str]:
        syncing.retry(tag=self.tag(name, module), actor=self.actor)
        work_off()
        return self.shown

    @property
    def shown(self) -> dict[str, str]:
        return {row.name: row.shown for row in verdicts.tags_of(self.repository)}


Connect = Callable[..., Git]


@pytest.fixture
def connect(site: Site, acme: Namespace, dora: User) -> Connect:
    def connected(name: str = URL, *, rules: Any = RULES, namespace: Namespace = acme, **more: Any) -> Git:
        actor = in_browser(dora)
        found = connecting.connect(namespace=namespace, actor=actor, url=site.url_of(name), rules=rules, **more)
        return Git(found.repository, actor)

    return connected


@pytest.fixture
def git(connect: Connect, upstream: Repository) -> Git:
    return connect()


def kinds() -> list[str]:
    """Of what was audited."""
    return list(AuditEvent.objects.order_by("pk").values_list("kind", flat=True))
