"""`oci_mirror` of OpenTofu for providers of another registry, and what other OCI clients see there."""

import json

import pytest

from apps.contrib.mirror.tests.e2e.conftest import ORIGIN
from tests.e2e.oci.clients import digest_of
from tests.e2e.oci.programs import Program
from tests.e2e.providers import configure, download, lock_of, require, said_by
from tests.e2e.workspace import Workspace
from tests.needs import needs

pytestmark = pytest.mark.live


@pytest.fixture
@needs("skopeo")
def skopeo(mirror, tmp_path) -> Program:
    return Program("skopeo", tmp_path, mirror)


@pytest.fixture
@needs("tofu")
def tofu(mirror, tmp_path) -> Workspace:
    space = Workspace(tmp_path / "tofu", "tofu", mirror)
    template = f"{mirror.host}/providers/${{hostname}}/${{namespace}}/${{type}}"
    block = f'oci_mirror {{\n    repository_template = "{template}"\n    include = ["{ORIGIN}/*/*"]\n  }}'
    configure(space, f"provider_installation {{\n  {block}\n}}\n")
    return space


def test_tofu_installs_a_provider_of_another_registry_from_the_mirror(pair, tofu):
    require(tofu, "cellar/names", host=ORIGIN)

    done = tofu.init()

    assert done.returncode == 0, said_by(done)
    assert f"Installed {ORIGIN}/cellar/names v1.1.0" in done.stdout
    document = download(pair.origin, pair.depot.read, "cellar/names", "1.1.0")
    assert document["shasum"] in lock_of(tofu)["zh"]


def test_tofu_goes_on_where_the_provider_is_not_here(pair, tofu):
    require(tofu, "orchard/nothing", host=ORIGIN)

    done = tofu.init()

    assert done.returncode == 1
    assert "was not found in any of the search locations" in said_by(done)


def test_skopeo_copies_what_another_larder_signed(pair, skopeo, tmp_path):
    address = f"docker://{pair.mirror.host}/providers/{ORIGIN}/orchard/names"
    tags = json.loads(skopeo.done("list-tags", address))["Tags"]
    assert tags == ["1.0.0", "1.1.0"]

    skopeo.done("--insecure-policy", "copy", "--all", f"{address}:1.1.0", f"oci:{tmp_path}/copied:it")

    document = download(pair.origin, pair.depot.read, "orchard/names", "1.1.0")
    zipped = tmp_path / "copied" / "blobs" / "sha256" / document["shasum"]
    assert digest_of(zipped.read_bytes()) == f"sha256:{document['shasum']}"
