"""Archives with links: followed where they lead into the archive, left out or refused where they do not."""

import stat
import zipfile
from collections.abc import Mapping

import pytest

from apps.blobs import store
from apps.releases.models import Release
from tests.builders.archives import MODULE, PRIVATE_KEY, module_zip
from tests.builders.tars import Item, gz, tar
from tests.builders.zips import Member, build
from tests.flows.conftest import PATH
from tests.rows import for_each_row

FILES = {**MODULE, "examples/x/main.tf": 'module "vpc" {\n  source = "../.."\n}\n', "shared/lib/init.sh": "#!/bin/sh\n"}
# As a module names what lies beside it.
READING = """locals {
  script = templatefile("${path.module}/templates/${var.name}", {})
  files  = fileset("${path.module}", "files/**")
  data   = jsondecode(file("./data.json"))
  names  = ["ci", "lib", "https://files.example.com/"]
}
"""


def zip_with(links: Mapping[str, str], files: Mapping[str, str | bytes] = FILES, top: str = "") -> bytes:
    """Return a zip like `git archive`: a link is a member whose bytes are its target."""
    plain = [Member(top + name, text if isinstance(text, bytes) else text.encode()) for name, text in files.items()]
    as_links = [
        Member(top + name, target.encode(), mode=stat.S_IFLNK | 0o777, method=0) for name, target in links.items()
    ]
    return build(sorted([*plain, *as_links], key=lambda member: member.raw_name))


def tar_with(links: Mapping[str, str], files: Mapping[str, str | bytes] = FILES, top: str = "vpc-1/") -> bytes:
    plain = [Item(top + name, text if isinstance(text, bytes) else text.encode()) for name, text in files.items()]
    as_links = [Item(top + name, kind=b"2", link=target.encode()) for name, target in links.items()]
    return gz(tar(sorted([*plain, *as_links], key=lambda item: item.raw_name)))


both = pytest.mark.parametrize("pack", [zip_with, tar_with], ids=["zip", "tar.gz"])


@pytest.fixture
def put(sent):
    def send(data: bytes, query: str = "", version: str = "1.2.0") -> Release:
        sent(data, query, version)
        return Release.objects.latest("pk")

    return send


def served(release: Release) -> dict[str, str]:
    assert (release.state, release.reasons) == ("published", [])
    with store.open_blob(release.digest) as file, zipfile.ZipFile(file) as archive:
        assert {stat.S_IFMT(info.external_attr >> 16) for info in archive.infolist()} == {stat.S_IFREG}
        return {name: archive.read(name).decode() for name in archive.namelist()}


def broken_links(release: Release) -> dict[str, dict[str, str]]:
    """The warnings about links, by file. Others are about what clients cannot plan."""
    return {one["file"]: one for one in release.notes["warnings"] if one["code"] == "broken_link"}


@both
def test_links_into_the_archive_are_served_as_copies(put, pack, client, alice, bearer):
    links = {
        "examples/x/variables.tf": "../../variables.tf",
        "examples/y": "x",
        "modules/dns/main.tf": "../../main.tf",
        "modules/dns/lib": "../../shared/lib",
        "scripts": "shared/lib",
    }
    data = pack(links)
    release = put(data)

    assert served(release) == {
        **FILES,
        "examples/x/variables.tf": FILES["variables.tf"],
        "examples/y/main.tf": FILES["examples/x/main.tf"],
        "examples/y/variables.tf": FILES["variables.tf"],
        "modules/dns/main.tf": FILES["main.tf"],
        "modules/dns/lib/init.sh": FILES["shared/lib/init.sh"],
        "scripts/init.sh": FILES["shared/lib/init.sh"],
    }
    assert release.digest != release.uploaded_digest
    assert (release.notes["links_count"], broken_links(release)) == (6, {})
    client.force_login(alice)
    page = " ".join(client.get(f"/releases/{release.public_id}").text.split())
    assert "6 links followed: clients get a copy of what they point to." in page
    units = [unit["path"] for unit in release.module_version.inspection["units"]]
    assert units == ["", "modules/dns", "examples/x", "examples/y"]
    again = client.put(PATH, data, content_type="application/octet-stream", headers=bearer(alice))
    assert again.status_code == 200, "the same bytes again are welcome"


@both
def test_a_broken_link_that_no_client_needs_is_left_out_with_a_warning(put, pack, client, alice):
    broken = {
        "Makefile": "../Makefile",
        "examples/x/versions.tf": "/etc/versions.tf",
        "test/fixtures/all/main.tf": "../../none.tf",
        ".tflint.hcl": "../.tflint.hcl",
        "modules/dns/README.md": "../../docs/dns.md",
        "modules/dns/lib": "..",
        "ci": "./common-dev-assets/ci",
    }
    files = {**FILES, "read.tf": READING}
    release = put(pack({**broken, "variables.txt": "variables.tf"}, files))

    assert served(release) == {**files, "variables.txt": FILES["variables.tf"]}
    warnings = broken_links(release)
    assert warnings.keys() == broken.keys()
    assert warnings["examples/x/versions.tf"]["found"] == "a symbolic link to /etc/versions.tf, an absolute path"
    client.force_login(alice)
    page = " ".join(client.get(f"/releases/{release.public_id}").text.split())
    assert page.count('data-warning="broken_link"') == 7
    assert "examples/x/versions.tf</span> was left out" in page
    assert "1 link followed: clients get a copy of what it points to." in page


@for_each_row(
    ("name", "target", "found"),
    [
        ("locals.tf", "../locals.tf", "../locals.tf, which is "),
        ("modules/dns", "../dns", "../dns, which is not in the archive"),
        ("templates/init.sh", "/usr/share/init.sh", "/usr/share/init.sh, an absolute path"),
        ("files", "/opt/files", "/opt/files, an absolute path"),
        ("locals.tf", "locals.tf", "part of a loop"),
        ("data.json", "terraform.tfstate", "left out"),
    ],
    ids=["outside", "a submodule", "a file by its name", "a folder by its name", "itself", "state"],
)
def test_a_broken_link_that_a_module_may_need_is_refused(put, name, target, found):
    files = {**FILES, "read.tf": READING, "terraform.tfstate": "{}"}
    release = put(zip_with({name: target}, files), "?confirm=state_file")

    assert release.state == "rejected"
    (reason,) = release.reasons
    assert (reason["code"], reason["file"]) == ("broken_link", name)
    assert found in reason["found"]
    assert (reason["expected"], reason["hint"]) == (
        "a link to a file or folder in the archive",
        "Replace the link with the file itself, or leave it out.",
    )
    assert put(module_zip()).state == "published"  # the number is still free


def test_a_key_behind_a_link_is_asked_about(put):
    data = zip_with({"modules/dns/id_rsa": "../../secret"}, {"modules/dns/main.tf": "", "secret": PRIVATE_KEY})

    release = put(data, "?folder=modules/dns")

    assert [reason["code"] for reason in release.reasons] == ["private_key"]
    assert "modules/dns/id_rsa" in release.reasons[0]["found"]


def test_what_links_multiply_counts_against_the_limits(put, settings):
    settings.MODULE_UNPACKED_MAX_BYTES = 100_000
    files = {**MODULE, "big.bin": "x" * 40_000}

    assert served(put(zip_with({"a.bin": "big.bin"}, files)))["a.bin"] == files["big.bin"]
    release = put(zip_with({"a.bin": "big.bin", "b.bin": "a.bin"}, files), version="1.3.0")
    assert "module_unpacked_max_bytes of LARDER_LIMITS" in str(release.reasons)
