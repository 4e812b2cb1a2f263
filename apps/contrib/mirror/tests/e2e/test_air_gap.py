"""Providers of a registry cross an air gap: mirrored on one side, carried in a bundle, mirrored on the other."""

import pytest

from apps.contrib.mirror.tests.e2e.conftest import ORIGIN
from tests import rooms
from tests.e2e.providers import require, said_by
from tests.live import start_live

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif("copy" not in {one.parent.name for one in rooms.HERE}, reason="bundles are of the room copy"),
]


def test_a_client_installs_on_the_far_side_what_was_mirrored_on_the_near_one(pair, client_of, tmp_path):
    near = client_of(pair.mirror, ORIGIN)
    require(near, "orchard/names", "1.1.0", host=ORIGIN)
    assert near.init().returncode == 0
    media, key = tmp_path / "media", tmp_path / "registry.pem"
    with pair.mirror.client() as anybody:
        (one,) = anybody.get("/api/v1/statement-keys").json()["keys"]
        key.write_text(anybody.get(f"/api/v1/statement-keys/{one['id']}/pem").text)
    pair.mirror.manage("bundle", "create", str(media), "--lock", str(near.work / ".terraform.lock.hcl"))

    with start_live(tmp_path / "far", why="the far side of an air gap, which reaches no registry") as far:
        bring = ("bundle", "import", str(media), "--key", str(key), "--as", "admin")
        assert f"{ORIGIN}/orchard/names 1.1.0 is in the mirror." in far.manage(*bring)
        assert "1 versions were here. New: none." in far.manage(*bring)
        space = client_of(far, ORIGIN)
        require(space, "orchard/names", "1.1.0", host=ORIGIN)
        done = space.init()

    assert done.returncode == 0, said_by(done)
    assert f"Installed {ORIGIN}/orchard/names v1.1.0" in done.stdout
