"""Provider packages through the child process: what clients would take, and nothing else, at a bounded cost."""

import hashlib
import io
import os
import re
import subprocess
import sys
import zipfile
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from apps.lib.packages import sandboxed
from tests.builders.archives import corpus
from tests.builders.providers import PROGRAM, dist, manifest, package, program
from tests.builders.zips import Member, build, streamed
from tests.rows import for_each_row

ROOT = Path(sandboxed.__file__).parents[3]
MIB = 1 << 20
EXTRA = [
    Member("README.md", b"# dns\n"),
    Member("docs/"),
    Member("docs/index.md", b"hello\n"),
    Member("a-b.txt"),
    Member("a/b.txt", b"z"),
]
NAME = "terraform-provider-dns"
ELF = program("linux", "amd64")


@pytest.fixture
def inspect(tmp_path: Path) -> Callable[..., sandboxed.PackageListing]:
    def run(data: bytes, limits: sandboxed.Limits | None = None, os: str = "linux", arch: str = "amd64"):
        path = tmp_path / "package.zip"
        path.write_bytes(data)
        with path.open("rb") as file:
            return sandboxed.inspect(file, limits or sandboxed.limits(), provider_type="dns", os=os, arch=arch)

    return run


def zipped(*names: str, body: bytes = ELF) -> bytes:
    return build([Member(name, body, mode=PROGRAM) for name in names])


def h1_of(data: bytes) -> str:
    """The hash of the unpacked tree by another reader of zips, in the words of its definition."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = sorted(name for name in archive.namelist() if not name.endswith("/"))
        lines = "".join(f"{hashlib.sha256(archive.read(name)).hexdigest()}  {name}\n" for name in names)
    return "h1:" + b64encode(hashlib.sha256(lines.encode()).digest()).decode()


def code_of(refusal: pytest.ExceptionInfo[sandboxed.Refusal]) -> str:
    return refusal.value.reasons[0].code


def test_another_process_reads_the_package_and_its_hash_is_what_terraform_put_into_a_lock_file(inspect):
    """From `terraform providers lock` of 1.11.4. Another value here breaks everybody who locked one."""
    data = package("dns", "1.2.0", "linux", "amd64", extra=EXTRA)
    listing = inspect(data)

    assert listing.pid != os.getpid()
    assert (listing.digest, listing.size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert listing.h1 == h1_of(data) == "h1:rYSgNoMqzV8y1WD2DVdyTSzPcRXuxxRR/5swWUVi/rE="
    assert (listing.executable, listing.is_runnable) == (f"{NAME}_v1.2.0", True)
    assert [entry.name for entry in listing.entries] == [*(member.name for member in EXTRA), f"{NAME}_v1.2.0"]
    assert listing.protocols == []


@pytest.mark.needs("terraform")
def test_terraform_locks_the_same_hash(inspect, tmp_path: Path):
    platforms = ("linux_amd64", "windows_amd64", "freebsd_arm")
    mirror, work = tmp_path / "mirror/registry.example.test/acme/dns", tmp_path / "work"
    mirror.mkdir(parents=True)
    work.mkdir()
    source = 'terraform {\n  required_providers {\n    dns = { source = "registry.example.test/acme/dns" }\n  }\n}\n'
    (work / "main.tf").write_text(source)
    hashes = set()
    for platform in platforms:
        data = package("dns", "1.2.0", *platform.split("_"), extra=EXTRA)
        (mirror / f"{NAME}_1.2.0_{platform}.zip").write_bytes(data)
        hashes.add(inspect(data, None, *platform.split("_")).h1)
    subprocess.run(
        ["terraform", "providers", "lock", f"-fs-mirror={tmp_path / 'mirror'}"]
        + [f"-platform={platform}" for platform in platforms],
        cwd=work,
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CHECKPOINT_DISABLE": "1"},
    )

    locked = set(re.findall(r'"(h1:[^"]+)"', (work / ".terraform.lock.hcl").read_text()))
    assert locked == hashes
    assert len(locked) == 3


@for_each_row("platform", ["darwin_arm64", "freebsd_386", "linux_s390x", "windows_amd64"])
def test_a_build_folder_is_accepted(inspect, platform: str):
    data = dist("dns", "1.2.0", [platform])[f"{NAME}_1.2.0_{platform}.zip"]

    assert inspect(data, None, *platform.split("_")).h1 == h1_of(data)


@for_each_row("name", [NAME, f"{NAME}_v1.2.0", f"{NAME}_v9.9.9", f"{NAME}.exe", f"{NAME}_x5", f"{NAME}_"])
def test_clients_know_the_program_by_its_beginning(inspect, name: str):
    assert inspect(zipped("LICENSE", name, f"deep/{name}", f"{NAME}x", f"{NAME}-v1")).executable == name


def test_members_may_be_stored_or_streamed_and_a_program_packed_without_its_mode_is_said_to_be_so(inspect):
    data = build([streamed("README.md", b"x" * 99_999), Member(NAME, ELF, method=0), streamed("z", b"")])

    listing = inspect(data)
    assert (listing.digest, listing.h1) == (hashlib.sha256(data).hexdigest(), h1_of(data))
    assert not listing.is_runnable


@for_each_row(
    ("names", "code", "told"),
    [
        ([], "package_no_executable", "an empty zip"),
        (["README.md"], "package_no_executable", "only README.md"),
        (["terraform-provider-other_v1.2.0", "A"], "package_no_executable", "only terraform-provider-other_v1.2.0, A"),
        ([f"{NAME}x"], "package_no_executable", f"only {NAME}x"),
        ([f"{NAME}-v1.2.0"], "package_no_executable", f"{NAME}-v1.2.0"),
        ([NAME.title()], "package_no_executable", NAME.title()),
        (["opentofu-provider-dns"], "package_no_executable", "opentofu-provider-dns"),
        ([f"{NAME}_v1.2.0/"], "package_no_executable", "an empty zip"),
        ([f"dist/{NAME}_v1.2.0"], "package_in_folder", "in a folder"),
        ([f"{NAME}_v1/{NAME}_v1.2.0", "README.md"], "package_in_folder", "in a folder"),
        ([f"{NAME}_v1.2.0", f"{NAME}.sha256", "A"], "package_two_executables", f"{NAME}.sha256, {NAME}_v1.2.0"),
    ],
    ids=[
        "empty", "no program", "another type", "a longer type", "a dash", "another case", "opentofu", "a folder's name",
        "in a folder", "in a folder like it", "two, of which the first by name would start",
    ],
)  # fmt: skip
def test_without_one_program_at_the_top_there_is_nothing_to_start(inspect, names: list[str], code: str, told: str):
    with pytest.raises(sandboxed.Refusal) as refusal:
        inspect(build([Member(name, b"" if name.endswith("/") else ELF) for name in names]))

    reason = refusal.value.reasons[0]
    assert reason.code == code
    assert told in reason.found
    assert reason.hint


def test_another_platform_than_the_name_says_is_refused(inspect):
    with pytest.raises(sandboxed.Refusal) as refusal:
        inspect(package("dns", "1.2.0", "darwin", "arm64"), None, "darwin", "amd64")

    reason = refusal.value.reasons[0]
    assert (reason.code, reason.file) == ("package_wrong_platform", f"{NAME}_v1.2.0")
    assert "darwin_arm64" in reason.found
    assert "GOOS=darwin GOARCH=amd64" in reason.hint


def test_a_script_is_no_program(inspect):
    with pytest.raises(sandboxed.Refusal, match="a script") as refusal:
        inspect(zipped(NAME, body=b"#!/bin/sh\nexec true\n"))

    assert code_of(refusal) == "package_not_a_program"


def test_a_manifest_inside_names_the_protocols(inspect):
    name = "terraform-registry-manifest.json"
    inside = {name: manifest("5.0", "6.0"), f"docs/{name}": b"x"}

    assert inspect(package("dns", "1.2.0", "linux", "amd64", extra=inside)).protocols == ["5.0", "6.0"]


@for_each_row("text", [b"{", b" " * 70_000, b"\xff"], ids=["no JSON", "too long", "not UTF-8"])
def test_a_broken_manifest_inside_is_refused(inspect, text: bytes):
    with pytest.raises(sandboxed.Refusal) as refusal:
        inspect(package("dns", "1.2.0", "linux", "amd64", extra={"terraform-registry-manifest.json": text}))

    assert code_of(refusal).startswith("manifest_")


@pytest.mark.slow
def test_the_rules_of_zips_hold(inspect):
    every = corpus()
    for case in [*every[::7], *(case for case in every if case.reason_code == "version_needed")]:
        if case.reason_code and isinstance(case.data, bytes):
            with pytest.raises(sandboxed.Refusal) as refusal:
                inspect(case.data)
            assert code_of(refusal) == case.reason_code


def test_refusals_name_the_settings(inspect):
    data = package("dns", "1.2.0", "linux", "amd64")
    with pytest.raises(sandboxed.Refusal, match=r"at most 9 bytes \(provider_package_max_bytes of LARDER_LIMITS\)"):
        inspect(data, sandboxed.limits(packed_bytes=9))
    with pytest.raises(sandboxed.Refusal, match=r"at most 9 bytes \(provider_unpacked_max_bytes of LARDER_LIMITS\)"):
        inspect(data, sandboxed.limits(unpacked_bytes=9))
    assert inspect(data, sandboxed.limits(packed_bytes=len(data), unpacked_bytes=1000)).size == len(data)


def test_a_check_that_answers_nonsense_is_broken(inspect, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sandboxed, "_INSPECTING", "tests.lib.sandbox.programs")

    with pytest.raises(sandboxed.CheckBroken):
        inspect(package("dns", "1.2.0", "linux", "amd64"))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_package(tmp_path: Path):
    noise = os.urandom(MIB)
    data = build([Member(NAME, ELF + noise * 60, method=0, mode=PROGRAM), Member("z", noise * 20)])
    path = tmp_path / "large.zip"
    path.write_bytes(data)
    code = (
        "import sys, resource; sys.path.insert(0, sys.argv[1])\n"
        "from apps.lib.packages import sandboxed as packages; from apps.lib.sandbox import starter\n"
        "listing = packages.inspect(open(sys.argv[2], 'rb'), packages.limits(),"
        " provider_type='dns', os='linux', arch='amd64')\n"
        "starter.retire(); starter.retired[0].wait()\n"
        "print(listing.digest, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(path)], capture_output=True, text=True, check=True
    )

    digest, kilobytes = done.stdout.split()
    assert digest == hashlib.sha256(data).hexdigest()
    assert 10_000 < int(kilobytes) < 40_000
