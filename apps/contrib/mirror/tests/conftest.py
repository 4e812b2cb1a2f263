"""What tests of mirrored providers may ask for. Each part adds its own fixtures in its own module."""

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_network

import pytest

from apps.contrib.mirror import breaker, requesting
from apps.contrib.mirror.models import Upstream
from registry_site.server import health as parts
from tests.builders import misbehaving
from tests.builders.misbehaving import Registry

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


@pytest.fixture
def allow_loopback(settings) -> None:
    """An operator allows upstreams on this machine."""
    settings.UPSTREAM = replace(settings.UPSTREAM, allow=LOOPBACK)


@pytest.fixture(autouse=True)
def as_a_fresh_process(monkeypatch) -> None:
    """No pause before another try, and no breaker open from another test."""
    monkeypatch.setattr(requesting, "PAUSES", (0.0, 0.0))
    breaker.hosts.clear()
    breaker._leases().clear()


@pytest.fixture
def registry() -> Iterator[Registry]:
    """A registry over plain http, without providers: see misbehaving.py."""
    with misbehaving.running() as started:
        yield started


@pytest.fixture
def tls_registry(tmp_path) -> Iterator[Registry]:
    """The same over https, with a certificate of a private authority."""
    with misbehaving.running(tls=tmp_path) as started:
        yield started


@pytest.fixture
def upstream(db, allow_loopback, registry: Registry) -> Upstream:
    """The enabled row of `registry`."""
    return Upstream.objects.create(host=registry.host, url=registry.url, is_enabled=True, cooldown_days=0)


@pytest.fixture
def tls_upstream(db, allow_loopback, tls_registry: Registry) -> Upstream:
    return Upstream.objects.create(
        host=tls_registry.host, url=tls_registry.url, is_enabled=True, cooldown_days=0, ca=tls_registry.ca
    )


@pytest.fixture
def all_up(monkeypatch) -> None:
    """What /metrics and the status page see: all parts of Larder are well."""
    monkeypatch.setattr(parts.checks, "states", lambda: dict.fromkeys(parts.PARTS, "ok"))
