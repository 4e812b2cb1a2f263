"""oras, crane and regctl, where they are on the PATH."""

import json

import pytest

from tests.builders.archives import module_zip
from tests.e2e.oci.programs import ARTIFACT_TYPE, Program, layout
from tests.needs import needs, needs_of

pytestmark = pytest.mark.live


@pytest.fixture
def program(request, live, tmp_path):
    def start(name):
        assert name in needs_of(request.node), f"mark this test: it needs {name}"
        return Program(name, tmp_path, live)

    return start


@pytest.fixture
@needs("oras")
def oras(live, shelf, program):
    one = program("oras")
    one.done("login", "--username", "ci", "--password-stdin", live.host, stdin=shelf.manage)
    return one


@pytest.mark.smoke
def test_oras_publishes_a_version_once(live, shelf, oras, tmp_path):
    (tmp_path / "vpc.zip").write_bytes(module_zip(comment=b"oras"))
    target = f"{live.host}/acme/by-oras/aws:1.0.0"
    push = ("push", "--artifact-type", ARTIFACT_TYPE, target, "vpc.zip:archive/zip")

    oras.done(*push, "--annotation", "org.opencontainers.image.created=2026-01-01T00:00:00Z")
    with live.client(shelf.read) as client:
        found = client.get("/v1/modules/acme/by-oras/aws/versions").json()["modules"][0]["versions"]
        assert [one["version"] for one in found] == ["1.0.0"]

    oras.done(*push, "--annotation", "org.opencontainers.image.created=2026-01-01T00:00:00Z")
    said = oras.refused(*push, "--annotation", "org.opencontainers.image.created=2026-01-02T00:00:00Z")
    assert "already published" in said
    oras.done("pull", target, "--output", "out")
    assert (tmp_path / "out" / "vpc.zip").read_bytes() == (tmp_path / "vpc.zip").read_bytes()


def test_oras_attaches_and_discovers(live, shelf, oras, tmp_path):
    (tmp_path / "sbom.json").write_text("{}")
    target = f"{live.host}/acme/vpc/aws:1.2.0"

    oras.done("attach", "--artifact-type", "application/vnd.example.sbom", target, "sbom.json:application/json")

    found = json.loads(oras.done("discover", "--format", "json", target))
    assert [one["artifactType"] for one in found["referrers"]] == ["application/vnd.example.sbom"]
    tags = oras.done("repo", "tags", target.rpartition(":")[0]).split()
    assert [tag for tag in tags if tag.startswith("sha256-")] == []  # no fallback tag: subjects are understood


@pytest.mark.needs("crane")
@pytest.mark.smoke
def test_crane_pushes_copies_lists_and_deletes(live, shelf, program, tmp_path):
    crane, image = program("crane"), layout(tmp_path / "layout", "crane")
    crane.done("auth", "login", live.host, "--username", "ci", "--password-stdin", stdin=shelf.manage)
    repository = f"{live.host}/acme/crane/aws"

    crane.done("push", "layout", f"{repository}:one")
    assert crane.done("digest", f"{repository}:one").strip() == image.digest
    crane.done("copy", f"{repository}:one", f"{live.host}/acme/craned/aws:two")
    assert crane.done("manifest", f"{live.host}/acme/craned/aws:two").encode().strip() == image.raw
    assert crane.done("ls", repository).split() == ["one"]
    crane.done("delete", f"{repository}:one")
    assert "MANIFEST_UNKNOWN" in crane.refused("manifest", f"{repository}:one")


@pytest.mark.needs("regctl")
@pytest.mark.smoke
def test_regctl_pushes_copies_lists_and_deletes(live, shelf, program, tmp_path):
    regctl, image = program("regctl"), layout(tmp_path / "layout", "regctl")
    regctl.done("registry", "login", live.host, "--user", "ci", "--pass-stdin", stdin=shelf.manage)
    repository = f"{live.host}/acme/regctl/aws"

    regctl.done("image", "copy", "ocidir://layout:made", f"{repository}:one")
    assert regctl.done("image", "digest", f"{repository}:one").strip() == image.digest
    regctl.done("image", "copy", f"{repository}:one", f"{live.host}/acme/regctl-copied/aws:two")
    assert regctl.done("tag", "ls", f"{live.host}/acme/regctl-copied/aws").split() == ["two"]
    regctl.done("tag", "delete", f"{repository}:one")
    regctl.refused("manifest", "head", f"{repository}:one")
    assert regctl.done("manifest", "head", f"{repository}@{image.digest}").strip()
