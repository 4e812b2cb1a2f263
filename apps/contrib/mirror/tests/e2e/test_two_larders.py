"""One Larder is an upstream of the other: real clients install through the second what was published on the first."""

import pytest

from apps.contrib.mirror.tests.e2e.conftest import ORIGIN
from tests.e2e.providers import download, lock_of, require, said_by

pytestmark = pytest.mark.live


def test_a_client_installs_what_another_larder_signed(pair, client_of):
    address = "cellar/names"  # which needs a token there
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
