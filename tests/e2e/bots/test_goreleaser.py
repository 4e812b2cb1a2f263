"""docs/recipes/tools.md: the build folder of GoReleaser, made by a stand-in with the names of the file."""

import re
from pathlib import Path

import pytest
import yaml

from tests import documents
from tests.builders import providers
from tests.e2e.bots.test_tools import PAGE, blocks
from tests.e2e.pages import HOST, Registry
from tests.e2e.test_documents import versions

pytestmark = [pytest.mark.live, pytest.mark.needs("curl")]
MANIFEST = '{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}\n'
RUN_BY = "tests/e2e/bots/test_goreleaser.py::test_what_goreleaser_names_as_the_file_says_is_published"


def named(template: str, **fields: str) -> str:
    return re.sub(r"\{\{ \.(\w+) \}\}", lambda found: fields[found[1]], template)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With the file of the page."""
    work = tmp_path / "work"
    work.mkdir()
    (work / ".goreleaser.yml").write_text(blocks("GoReleaser", "yaml")[0])
    (work / "terraform-registry-manifest.json").write_text(MANIFEST)
    return work


def publish(registry: Registry, work: Path, text: str) -> str:
    given = {"LARDER_URL": f"https://{HOST}", "LARDER_TOKEN": registry.manage}
    return registry.type(work, text, **given)


def test_what_goreleaser_names_as_the_file_says_is_published(registry: Registry, repository: Path) -> None:
    file = yaml.safe_load((repository / ".goreleaser.yml").read_text())
    fields = {"ProjectName": file["project_name"], "Version": "1.2.9"}
    dist = providers.dist("dns", "1.2.9", ("linux_amd64", "windows_arm64"), protocols=("6.0",))
    [archive] = file["archives"]
    expected = {named(archive["name_template"], **fields, Os="linux", Arch="amd64") + ".zip"}
    expected |= {named(archive["name_template"], **fields, Os="windows", Arch="arm64") + ".zip"}
    expected |= {named(file["checksum"]["name_template"], **fields)}
    expected |= {named(file["checksum"]["extra_files"][0]["name_template"], **fields)}
    assert expected == dist.keys()
    assert file["release"] == {"disable": True}
    built = repository.parent / "built"
    built.mkdir()
    for name, data in dist.items():
        (built / name).write_bytes(data)
    (built / "artifacts.json").write_text("[]")  # a byproduct
    (built / next(name for name in dist if name.endswith("manifest.json"))).unlink()  # it does not copy that
    stand_in = repository.parent / "programs/goreleaser"
    stand_in.parent.mkdir()
    stand_in.write_text(f'#!/bin/sh\ntest "$*" = "release --clean" && cp -r {built} dist\n')
    stand_in.chmod(0o755)
    [fence] = documents.run_by(RUN_BY, PAGE)

    registry.depot.namespace("released", "private")  # others count the versions of acme/dns
    text = fence.text.replace("1.3.0", "1.2.9").replace("acme/dns", "released/dns")

    said = publish(registry, repository, text)

    assert said.endswith(f"Published released/dns 1.2.9.\nhttps://{HOST}/providers/released/dns/1.2.9\n")
    assert "Sent: terraform-provider-dns_1.2.9_SHA256SUMS\n" in said
    assert "artifacts.json" not in said
    assert "1.2.9" in versions(registry, "providers", "released/dns")


def test_the_signature_of_the_page_is_detached_and_binary() -> None:
    [sign] = yaml.safe_load(blocks("GoReleaser", "yaml")[1])["signs"]

    assert sign["artifacts"] == "checksum"
    assert "--detach-sign" in sign["args"]
    assert "--armor" not in sign["args"]
