"""Fixtures for tests of mirrored providers. Each part adds its own fixtures in its own module."""

from dataclasses import replace

import pytest

from apps.contrib.mirror.models import Upstream
from apps.contrib.mirror.tests.house import begin_anew_with_registries
from registry_site.server import probes as parts
from tests.builders.misbehaving import Registry
from tests.lib.net.conftest import LOOPBACK, registry, tls_registry
from tests.site.front.conftest import process

__all__ = ["process", "registry", "tls_registry"]  # fixtures


@pytest.fixture
def allow_loopback(settings) -> None:
    """An operator allows upstreams on this machine."""
    settings.UPSTREAM = replace(settings.UPSTREAM, allow=LOOPBACK)


@pytest.fixture(autouse=True)
def as_a_fresh_process(monkeypatch) -> None:
    """No pause before another try, and no breaker open from another test."""
    begin_anew_with_registries(monkeypatch)


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
    """Let /metrics and the status page see all parts of Larder well."""
    monkeypatch.setattr(parts.checks, "states", lambda: dict.fromkeys(parts.PARTS, "ok"))
