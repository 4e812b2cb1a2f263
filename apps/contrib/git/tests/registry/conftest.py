"""A registry whose module lies on a real Git server, mirrored by an upstream, and connected to acme by Dora."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.utils import timezone

from apps.accounts.models import Namespace, User
from apps.contrib.git import connecting, locations_away, syncing
from apps.contrib.git.models import Tag
from apps.contrib.git.tests.conftest import Git, work_off
from apps.releases.models import Release
from tests import rooms
from tests.builders.catalogue import Module
from tests.builders.git_servers import LOOPBACK, Repository, Site
from tests.builders.misbehaving import HOST, Registry
from tests.lib.net.conftest import registry
from tests.sessions import in_browser

__all__ = ["registry"]


BEGIN_ANEW = rooms.contributed("begin_anew_with_registries")
collect_ignore_glob = [] if BEGIN_ANEW else ["test_*.py"]  # without a room that reads other registries
Upstream: Any = apps.get_model("upstream", "Upstream") if BEGIN_ANEW else None
PolicyRule: Any = apps.get_model("upstream", "PolicyRule") if BEGIN_ANEW else None
PolicyException: Any = apps.get_model("upstream", "PolicyException") if BEGIN_ANEW else None


@pytest.fixture(autouse=True)
def as_a_fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin like a worker that has just started."""
    locations_away.forget()
    for begin in BEGIN_ANEW:
        begin(monkeypatch)


ADDRESS = "Acme/vpc/aws"
FULL = f"{HOST}/{ADDRESS}"


@pytest.fixture
def other(db: None, registry: Registry, settings: Any) -> Any:
    """The upstream: without a cool-down."""
    settings.UPSTREAM = replace(settings.UPSTREAM, allow=LOOPBACK)
    return Upstream.objects.create(host=registry.host, url=registry.url, is_enabled=True, cooldown_days=0)


@pytest.fixture
def code(upstream: Repository) -> Repository:
    """The module's repository, with the tags v1.0.0 and v1.1.0."""
    upstream.tag("v1.0.0", message="First")
    upstream.commit({"main.tf": '# second\nvariable "name" {\n  type = string\n}\n', "README.md": "# VPC\n"})
    upstream.tag("v1.1.0")
    return upstream


@pytest.fixture
def listed(registry: Registry, site: Site, code: Repository) -> Module:
    """The listing of the registry: 1.0.0 and 1.1.0, at the tags of the Git repository."""
    where = f"git::{site.url_of('acme/terraform-aws-vpc')}?ref=v{{version}}"
    return registry.add_module(ADDRESS, where, ["1.0.0", "1.1.0"])


@pytest.fixture
def connect_module(other: Any, acme: Namespace, dora: User) -> Callable[..., Git]:
    def connected(url: str = FULL, **more: Any) -> Git:
        actor = in_browser(dora)
        return Git(connecting.connect(namespace=acme, actor=actor, url=url, **more).repository, actor)

    return connected


@pytest.fixture
def mirrored(listed: Module, connect_module: Callable[..., Git]) -> Git:
    return connect_module()


def listed_again(git: Git) -> dict[str, str]:
    """List again, like a poll."""
    git.repository.refresh_from_db()
    syncing.listen(git.repository)
    work_off()
    git.repository.refresh_from_db()
    return git.shown


def made_older(days: int) -> None:
    """Let everything have been seen some days earlier."""
    for row in Tag.objects.all():
        row.seen_at -= timedelta(days=days)
        row.known_since = row.known_since and row.known_since - timedelta(days=days)
        row.save(update_fields=["seen_at", "known_since"])


def rule(upstream: Any, effect: str, pattern: str = "acme/vpc", **more: Any) -> Any:
    position = upstream.rules.count() + 1
    return PolicyRule.objects.create(upstream=upstream, position=position, pattern=pattern, effect=effect, **more)


def published() -> dict[str, str]:
    """The versions with their commits."""
    rows = Release.objects.filter(name="vpc/aws", state="published").select_related("origin")
    return {row.version: row.origin.facts["commit"] for row in rows}


def days_ago(days: int) -> str:
    return (timezone.now() - timedelta(days=days)).isoformat()
