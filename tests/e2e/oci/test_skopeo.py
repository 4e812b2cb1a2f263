"""skopeo from Debian: log in, copy in and out, list, inspect, delete."""

import json

import pytest

from tests.e2e.oci.programs import Program, bytes_of, layout
from tests.needs import needs

pytestmark = pytest.mark.live


@pytest.fixture
@needs("skopeo")
def skopeo(live, tmp_path):
    return Program("skopeo", tmp_path, live)


@pytest.fixture
def copied(live, shelf, skopeo, tmp_path):
    """Copies a layout in with Alice's token; answers its address and manifest."""

    def copy(name: str):
        image = layout(tmp_path / "layout", name)
        address = f"docker://{live.host}/{name}:made"
        skopeo.done("--insecure-policy", "copy", "--dest-creds", f"ci:{shelf.manage}", "oci:layout:made", address)
        return address, image

    return copy


@pytest.mark.full
@pytest.mark.smoke
def test_what_was_copied_in_is_listed_read_copied_out_and_deleted(live, shelf, skopeo, copied, tmp_path):
    address, image = copied("acme/skopeo/image")
    repository = address.rpartition(":")[0]
    skopeo.done("login", "--username", "ci", "--password-stdin", live.host, stdin=shelf.manage)

    assert json.loads(skopeo.done("list-tags", repository))["Tags"] == ["made"]
    assert skopeo.done("inspect", "--raw", address).encode() == image.raw
    assert json.loads(skopeo.done("inspect", address))["Digest"] == image.digest
    skopeo.done("--insecure-policy", "copy", address, "oci:out:made")
    assert bytes_of(tmp_path / "out", image.digest) == image.raw
    for layer in image.fields["layers"]:
        assert bytes_of(tmp_path / "out", layer["digest"]) == bytes_of(tmp_path / "layout", layer["digest"])

    skopeo.done("delete", address)

    assert "manifest unknown" in skopeo.refused("inspect", "--raw", address).lower()


def test_a_release_is_a_package(live, shelf, skopeo):
    address = f"docker://{live.host}/open/vpc/aws"

    assert {"1.0.0", "1.1.0", "1.2.0", "latest"} <= set(json.loads(skopeo.done("list-tags", address))["Tags"])
    found = json.loads(skopeo.done("inspect", "--raw", f"{address}:1.2.0"))
    assert found["artifactType"] == "application/vnd.opentofu.modulepkg"
    assert [layer["mediaType"] for layer in found["layers"]] == ["archive/zip"]
