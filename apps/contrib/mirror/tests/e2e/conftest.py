"""Larders that mirror another registry: another Larder, or the one that misbehaves on command."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from apps.contrib.mirror import snippets
from tests.builders import misbehaving
from tests.builders.keys import signing_key
from tests.builders.misbehaving import Registry
from tests.e2e.providers import Depot, configure
from tests.e2e.workspace import Workspace
from tests.live import Live
from tests.needs import CLIENTS

ORIGIN = "registry.origin.example"  # as addresses name it; it resolves nowhere


@dataclass
class Pair:
    """`mirror` has `origin` as an upstream, and asks it with a token that reads what is private there."""

    origin: Live
    mirror: Live
    depot: Depot


def mirror_of(mirror: Live, manage: str, host: str, **fields: object) -> None:
    """Switch a registry on, like staff."""
    body = {"enabled": True, "cooldown_days": 0} | fields
    with mirror.client(manage) as client:
        client.put(f"/api/v1/upstreams/{host}", json=body).raise_for_status()


def authority_of(larder: Live) -> str:
    return (larder.data_dir / "tls" / "ca.pem").read_text()


@pytest.fixture(scope="session")
def mirror(loopback: Live) -> Live:
    return loopback


@pytest.fixture(scope="package")
def pair(live: Live, mirror: Live) -> Pair:
    """orchard (public) and cellar (private), each with names 1.0.0 and 1.1.0, signed by the origin."""
    depot = Depot(live, live.token(), live.token("admin", "read"), signing_key("ed25519"))
    for name, visibility in (("orchard", "public"), ("cellar", "private")):
        depot.namespace(name, visibility)
        for version in ("1.0.0", "1.1.0"):
            depot.publish(f"{name}/names", version)
    mirror_of(mirror, mirror.token(), ORIGIN, url=live.url, ca=authority_of(live), token=depot.read)
    return Pair(live, mirror, depot)


@pytest.fixture
def registry() -> Iterator[Registry]:
    with misbehaving.running() as started:
        yield started


@pytest.fixture(params=CLIENTS)
def client_of(request: pytest.FixtureRequest, tmp_path: Path, settings) -> Callable[..., Workspace]:
    """Makes fresh workspaces of one real client, with the block of the pages: this mirror for all its hosts."""
    made = iter(range(100))

    def workspace(larder: Live, *hosts: str) -> Workspace:
        space = Workspace(tmp_path / f"workspace-{next(made)}", request.param, larder)
        settings.PUBLIC_URL = larder.url
        configure(space, snippets.everything_block(hosts, client=request.param).text)
        return space

    return workspace
