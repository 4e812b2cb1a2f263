"""The file names of a build folder: what each is, and what a near miss was meant to be."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.lib.packages import sandboxed
from tests.builders.providers import dist
from tests.rows import for_each_row

STEM = "terraform-provider-dns_1.2.0"


@for_each_row(
    ("filename", "fields"),
    [
        (f"{STEM}_linux_amd64.zip", ("dns", "1.2.0", "linux", "amd64")),
        (f"{STEM}_windows_386.zip", ("dns", "1.2.0", "windows", "386")),
        ("terraform-provider-my-dns_0.1.0-rc.1_darwin_arm64.zip", ("my-dns", "0.1.0-rc.1", "darwin", "arm64")),
        ("terraform-provider-x_1.0.0+b.7_freebsd_arm.zip", ("x", "1.0.0+b.7", "freebsd", "arm")),
        ("terraform-provider-terraform-x_1.0.0_linux_arm.zip", ("terraform-x", "1.0.0", "linux", "arm")),
    ],
    ids=["plain", "386", "a pre-release", "a build", "a type that the address refuses"],
)
def test_a_package_says_what_it_is_for(filename: str, fields: tuple[str, str, str, str]):
    name = sandboxed.name_of(filename)

    assert name == sandboxed.PackageName(*fields)
    assert str(name) == filename
    assert name.platform == "_".join(fields[2:])


@for_each_row(
    "filename",
    [
        "", ".zip", "dns.zip", f"{STEM}.zip", f"{STEM}_linux.zip", f"{STEM}_linux_amd64.tar.gz",
        f"{STEM}_linux_amd64.ZIP", f"{STEM}_linux_amd64.zip.sig", f"dist/{STEM}_linux_amd64.zip",
        f"{STEM}_/linux_amd64.zip", f"{STEM}_SHA256SUMS", f"{STEM}_manifest.json", "terraform-provider-_1.2.0_a_b.zip",
        "terraform-provider-dns__linux_amd64.zip", f"{STEM}_linux_.zip", "opentofu-provider-dns_1.2.0_linux_amd64.zip",
        f"{STEM}_linux_amd64\n.zip", f" {STEM}_linux_amd64.zip",
    ],
)  # fmt: skip
def test_other_files_are_no_packages(filename: str):
    assert sandboxed.name_of(filename) is None


@for_each_row(
    ("filename", "found", "hint"),
    [
        ("terraform-provider-dns_v1.2.0_linux_amd64.zip", "'v1.2.0'", "Use 1.2.0"),
        ("terraform-provider-dns_1.2_linux_amd64.zip", "'1.2'", "Use 1.2.0"),
        ("terraform-provider-dns_latest_linux_amd64.zip", "'latest'", ""),
        ("terraform-provider-dns_v1_Linux_amd64.zip", "'v1' 'Linux'", "Use 1.0.0"),
        (f"{STEM}_Linux_amd64.zip", "'Linux'", "call it linux"),
        (f"{STEM}_macos_amd64.zip", "'macos'", "call it darwin"),
        (f"{STEM}_win64_amd64.zip", "'win64'", "call it windows"),
        (f"{STEM}_linx_amd64.zip", "'linx'", "call it linux"),
        (f"{STEM}_haiku_amd64.zip", "'haiku'", "<os>_<arch>"),
        (f"{STEM}_linux_x86_64.zip", "'x86_64'", "call it amd64"),
        (f"{STEM}_linux_aarch64.zip", "'aarch64'", "call it arm64"),
        (f"{STEM}_linux_i386.zip", "'i386'", "call it 386"),
        (f"{STEM}_linux_armv6.zip", "'armv6'", "call it arm"),
        (f"{STEM}_linux_amd64_v2.zip", "'amd64_v2'", "call it amd64"),
        (f"{STEM}_linux_amd46.zip", "'amd46'", "call it amd64"),
        (f"{STEM}_linux_z80.zip", "'z80'", "<os>_<arch>"),
        (f"{STEM}_js_wasm.zip", "'js'", "<os>_<arch>"),
        (f"{STEM}_darwin_all.zip", "darwin_all", "darwin_amd64 and darwin_arm64"),
        (f"{STEM}_linux_all.zip", "'all'", ""),
    ],
    ids=lambda value: value.removeprefix("terraform-provider-dns_").removesuffix(".zip"),
)
def test_what_no_client_asks_for_is_refused_with_what_was_meant(filename: str, found: str, hint: str):
    with pytest.raises(sandboxed.Refusal) as refusal:
        sandboxed.name_of(filename)

    reasons = refusal.value.reasons
    assert {(reason.code, reason.file) for reason in reasons} == {("package_name", filename)}
    assert all(word in reason.found for reason, word in zip(reasons, found.split(), strict=True))
    assert hint in reasons[0].hint


def test_each_file_of_a_build_folder_has_its_role():
    # A package's platform is for name_of to refuse.
    names = [*dist("dns", "1.2.0"), f"{STEM}_SHA256SUMS.sig", f"{STEM}_linux_x86_64.zip"]
    roles = {name: sandboxed.role_of(name, type="dns", version="1.2.0") for name in names}

    assert roles == {
        f"{STEM}_darwin_amd64.zip": "package",
        f"{STEM}_darwin_arm64.zip": "package",
        f"{STEM}_linux_amd64.zip": "package",
        f"{STEM}_linux_arm64.zip": "package",
        f"{STEM}_windows_amd64.zip": "package",
        f"{STEM}_manifest.json": "manifest",
        f"{STEM}_SHA256SUMS": "sums",
        f"{STEM}_SHA256SUMS.sig": "signature",
        f"{STEM}_linux_x86_64.zip": "package",
    }


IGNORED = [
    f"{STEM}_SHA256SUMS.72D7468F.sig", f"{STEM}_SHA256SUMS.asc", f"{STEM}_sha256sums", f"{STEM}_.zip",
    f"{STEM}_a/b.zip", f"{STEM}_linux_amd64.zip.sbom.json", f"dist/{STEM}_linux_amd64.zip",
    "terraform-provider-dns_1.2.1_linux_amd64.zip",
    "terraform-provider-dns_1.2.0-rc.1_linux_amd64.zip", "terraform-provider-dns2_1.2.0_linux_amd64.zip",
    "terraform-provider-dns_v1.2.0", "artifacts.json", "metadata.json", "config.yaml", "CHANGELOG.md", "",
]  # fmt: skip


def test_everything_else_is_ignored():
    roles = {name: sandboxed.role_of(name, type="dns", version="1.2.0") for name in IGNORED}

    assert roles == dict.fromkeys(IGNORED, "ignored")


# What follows `terraform-provider-<type>_<version>`. tests/browser/test_provider_sums.py asks the browser's script.
COMPANIONS = [
    "_linux_amd64.zip.sbom.json", "_linux_amd64.zip.sig", "_linux_amd64.tar.gz", "_sbom.spdx.json", ".tar.gz",
    ".tar.gz.sbom.json", ".manifest.json", "_SHA512SUMS", "_constructor",
]  # fmt: skip
SOURCES = "terraform-provider-{}-1.2.0.tar.gz"
NO_COMPANIONS = [
    "_linux_amd64.zip", "_linux_x86_64.zip", "_linux_amd64.ZIP", "_source.zip", ".zip", "_manifest.json",
    "_SHA256SUMS.sig", "_docs.zip", "", "-rc.1_linux_amd64.zip.sbom.json", "1.tar.gz",
]  # fmt: skip


@for_each_row("name", [*(STEM + rest for rest in COMPANIONS), SOURCES.format("dns")])
def test_a_companion_of_the_version_is_known_by_its_name(name: str):
    assert sandboxed.is_companion(name, type="dns", version="1.2.0")
    assert not sandboxed.is_companion(name, type="dns", version="1.2.1")
    assert not sandboxed.is_companion(name, type="net", version="1.2.0")


@for_each_row("name", [*(STEM + rest for rest in NO_COMPANIONS), "terraform-provider-dns-1.2.0_linux_amd64.zip"])
def test_what_clients_look_for_and_what_is_of_another_version_is_no_companion(name: str):
    assert not sandboxed.is_companion(name, type="dns", version="1.2.0")


BYPRODUCTS = [
    "artifacts.json", "metadata.json", "config.yaml", "CHANGELOG.md", f"{STEM}_SHA256SUMS.72D7468F.sig",
    f"{STEM}_linux_amd64.zip.sbom.json", "terraform-provider-dns_v1.2.0_1.2.0_linux_amd64.sbom.json",
    SOURCES.format("dns"), f"{STEM}.tar.gz", f"{STEM}_SHA256SUMS.sigstore.json", f"{STEM}_linux_amd64.zip.sig",
]  # fmt: skip


NO_BYPRODUCTS = [
    f"{STEM}_SHA256SUMS.asc", f"{STEM}_sha256sums", f"{STEM}_SHA256SUM", f"{STEM}_linux_amd64.tar.gz", "README.md",
    f"{STEM}_linux_amd64.ZIP", f"{STEM}_linux_amd64.zip", f"{STEM}_docs.zip", "terraform-provider-dns_1.2.1.tar.gz",
    f"{STEM}_SHA256SUMS", f"{STEM}_SHA256SUMS.sig", f"{STEM}_manifest.json", "dns.zip", "",
]  # fmt: skip


def test_a_byproduct_of_the_build_is_known_by_its_name_and_nothing_that_was_meant_to_be_published_is_one():
    names = [*BYPRODUCTS, *NO_BYPRODUCTS]
    assert [name for name in names if sandboxed.is_byproduct(name, type="dns", version="1.2.0")] == BYPRODUCTS


@settings(max_examples=30)
@given(st.text() | st.text(max_size=20).map(lambda text: f"terraform-provider-{text}_1.0.0_{text}_{text}.zip"))
def test_any_name_is_read_or_refused(filename: str):
    try:
        name = sandboxed.name_of(filename)
    except sandboxed.Refusal:
        return
    assert name is None or (name.os in sandboxed.SYSTEMS and name.arch in sandboxed.ARCHITECTURES)
