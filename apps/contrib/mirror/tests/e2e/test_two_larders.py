"""One Larder is an upstream of the other: real clients install through the second what was published on the first."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from apps.contrib.mirror.tests.e2e.conftest import ORIGIN, mirror_of
from bench.trees import descendants
from tests.e2e.providers import download, lock_of, require, said_by
from tests.e2e.workspace import access_lines, said

pytestmark = pytest.mark.live


@pytest.mark.parametrize("address", ["orchard/names", "cellar/names"])
def test_a_client_installs_what_another_larder_signed(pair, client_of, address):
    space = client_of(pair.mirror, ORIGIN)
    require(space, address, host=ORIGIN)

    done = space.init()

    assert done.returncode == 0, said_by(done)
    assert f"Installed {ORIGIN}/{address} v1.1.0" in done.stdout
    package = download(pair.origin, pair.depot.read, address, "1.1.0")
    with pair.mirror.client() as anybody:
        archives = anybody.get(f"/v1/mirror/{ORIGIN}/{address}/1.1.0.json").json()["archives"]
    assert f"zh:{package['shasum']}" in archives["linux_amd64"]["hashes"]
    (computed,) = lock_of(space)["h1"]
    assert f"h1:{computed}" in archives["linux_amd64"]["hashes"]
    assert len(archives) == 3


def test_the_second_client_costs_the_origin_nothing(pair, client_of):
    for _ in range(2):
        space = client_of(pair.mirror, ORIGIN)
        require(space, "orchard/names", "1.0.0", host=ORIGIN)
        mark = said(pair.origin)
        assert space.init().returncode == 0
    assert access_lines(pair.origin, mark) == []


def test_what_the_origin_does_not_have_is_not_here(pair, client_of):
    space = client_of(pair.mirror, ORIGIN)
    require(space, "orchard/nothing", host=ORIGIN)

    done = space.init()

    assert done.returncode == 1
    assert "was not found in any of the search locations" in said_by(done)


@contextmanager
def paused(larder) -> Iterator[None]:
    """All its processes stand still: connections are accepted, and nobody answers."""
    processes = descendants(larder.process.pid)
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)


def test_while_the_origin_hangs_clients_continue_with_what_is_known(pair, client_of):
    first = client_of(pair.mirror, ORIGIN)
    require(first, "cellar/names", "1.0.0", host=ORIGIN)
    assert first.init().returncode == 0
    mirror_of(pair.mirror, pair.manage, ORIGIN, list_seconds=0)  # each list is asked for again
    try:
        with paused(pair.origin):
            for _ in range(2):
                space = client_of(pair.mirror, ORIGIN)
                require(space, "cellar/names", "1.0.0", host=ORIGIN)
                done = space.init()
                assert done.returncode == 0, said_by(done)
    finally:
        mirror_of(pair.mirror, pair.manage, ORIGIN, list_seconds=600)


def test_own_providers_are_still_installed_directly(pair, client_of):
    """The block excludes mirrored hosts alone from `direct`."""
    space = client_of(pair.mirror, ORIGIN)
    space.host = pair.origin.host
    space.environment["SSL_CERT_FILE"] = str(both_authorities(pair, space))
    require(space, "orchard/names", host=pair.origin.host)

    done = space.init()

    assert done.returncode == 0, said_by(done)
    assert "signed, key ID" in done.stdout


def both_authorities(pair, space):
    bundle = space.folder / "both.pem"
    bundle.write_text(pair.mirror.ca_bundle.read_text() + pair.origin.ca_bundle.read_text())
    return bundle
