"""Repacking: the same archive gives the same zip, with the same contents, in flat memory, and nothing is believed."""

import hashlib
import io
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from apps.lib.archives import sandboxed
from apps.lib.archives.child_repacking import ZipWriter, repack_members
from tests.builders.archives import MODULE, Case, module_zip, tar_corpus
from tests.builders.tars import Item, gz, module_tar, pax, tar, with_path, xz
from tests.builders.zips import Member, build
from tests.lib.sandbox.processes import children
from tests.rows import for_each_row

ROOT = Path(sandboxed.__file__).parents[3]
MIB = 1 << 20
LIMITS = sandboxed.Limits()
ACCEPTED = [case for case in tar_corpus() if not case.reason_code and isinstance(case.data, bytes)]


def listed(data: bytes, *wanted: str) -> sandboxed.Listing:
    return sandboxed.read(io.BytesIO(data), LIMITS, wanted)


def contents(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as oracle:
        assert oracle.testzip() is None
        return {info.filename: oracle.read(info) for info in oracle.infolist()}


def noise(size: int) -> bytes:
    """Bytes that do not pack."""
    return b"".join(hashlib.sha256(number.to_bytes(4, "big")).digest() for number in range(size // 32))


@pytest.mark.slow
def test_every_accepted_tar_repacks_to_the_same_contents(repack):
    for case in ACCEPTED[::3]:
        data = repack(case.bytes, case.form)

        assert contents(data) == files_of(case), case.name
        assert [entry.name for entry in listed(data).entries] == list(files_of(case)), case.name


def test_the_zip_is_one_that_our_own_rules_and_other_tools_take(repack):
    big = noise(3 * MIB)
    data = repack(gz(tar([Item("a.tf", b"a = 1\n"), Item("big.bin", big), Item("e.tf"), with_path("caf\u00e9.tf")])))

    listing = listed(data)
    assert [entry.name for entry in listing.entries] == ["a.tf", "big.bin", "e.tf", "caf\u00e9.tf"]
    assert [entry.method for entry in listing.entries] == [8, 8, 8, 8]
    assert contents(data)["big.bin"] == big


def test_times_owners_and_modes_leave_no_trace(repack):
    plain = [Item("a.tf", b"1"), Item("run.sh", b"2", mode=0o755)]
    dressed = [
        Item("./", kind=b"5"),
        Item("./a.tf", b"1", mode=0o600, before=pax({"mtime": "1700000000.5", "uname": "alice"})),
        Item("./run.sh", b"2", mode=0o711, magic=b"ustar  \0"),
    ]

    data = repack(gz(tar(plain)))

    assert data == repack(gz(tar(dressed))) == repack(xz(tar(plain)), "tar.xz")
    with zipfile.ZipFile(io.BytesIO(data)) as oracle:
        infos = oracle.infolist()
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}
    assert [info.external_attr >> 16 for info in infos] == [stat.S_IFREG | 0o644, stat.S_IFREG | 0o755]
    assert {info.flag_bits for info in infos} == {1 << 3}
    assert {info.extra for info in infos} == {b""}


def test_a_zip_is_sorted_by_name_whatever_its_order(repack):
    names = ["b.tf", "a/x.tf", "a.tf", "Z.tf", "\u00e9.tf"]
    members = [Member(name, name.encode()) for name in names]

    one = repack(build(members), "zip")
    other = repack(build([Member("a/"), *reversed(members)], comment=b"commit"), "zip")

    assert one == other
    assert list(contents(one)) == ["Z.tf", "a.tf", "a/x.tf", "b.tf", "\u00e9.tf"]
    assert repack(one, "zip") == one


@pytest.mark.needs("zlib")  # another packer gives other bytes
def test_the_bytes_are_frozen(repack):
    """A retried publication packs again and should meet its digest: change this only with a reason in the commit."""
    data = repack(gz(module_tar(MODULE, top="vpc-1.2.0/")), folder="vpc-1.2.0")

    assert hashlib.sha256(data).hexdigest() == "1df7e7a3fc616230acc8774cf02ee6b19fb3c69cb02c6448d59ec2531969897d"


@pytest.mark.slow
def test_it_is_the_same_under_another_python(repack, tmp_path):
    source = tmp_path / "module.tar.gz"
    source.write_bytes(gz(module_tar({**MODULE, "big.bin": noise(2 * MIB)}, top="m/")))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from apps.lib.archives import sandboxed as archives\n"
        "pieces = archives.repack(open(sys.argv[2], 'rb'), archives.Limits(), form='tar.gz', folder='m')\n"
        "sys.stdout.buffer.write(b''.join(pieces))"
    )
    here = repack(source.read_bytes(), folder="m")
    others = (shutil.which(f"python3.{minor}") for minor in (11, 12, 13, 14))
    pythons = filter(None, [sys.executable, *others])
    for python in pythons:
        done = subprocess.run([python, "-c", code, str(ROOT), str(source)], capture_output=True, check=False)
        # A name on the path may be a shim without a Python.
        assert done.stdout == here or (python != sys.executable and done.returncode)


def test_a_folder_becomes_the_root_and_names_are_left_out(repack):
    files = {
        "m/main.tf": "1",
        "m/sub/x.tf": "2",
        "m/terraform.tfstate": "{}",
        "mm/y.tf": "3",
        "z.tf": "4",
        "m/.git/x": "",
    }
    source = gz(module_tar(files))

    assert contents(repack(source, folder="m", leave_out=["m/terraform.tfstate", "m/.git/x"])) == {
        "main.tf": b"1",
        "sub/x.tf": b"2",
    }
    assert contents(repack(source, folder="m/sub/")) == {"x.tf": b"2"}
    assert set(contents(repack(source, leave_out=["z.tf"]))) == {*files} - {"z.tf"}


def test_thousands_of_names_are_left_out(repack):
    names = [f"m/.terraform/{'n' * 60}{number}" for number in range(5_000)]
    source = gz(tar([Item("m/main.tf", b"1"), *(Item(name) for name in names)]))

    assert contents(repack(source, folder="m", leave_out=names)) == {"main.tf": b"1"}


@for_each_row("folder", ["n", "main.tf", "../m", "m/main.tf"])
def test_a_folder_that_is_not_there_is_refused(repack, folder: str):
    with pytest.raises(sandboxed.Refusal) as refusal:
        repack(gz(module_tar(MODULE, top="m/")), folder=folder)

    assert refusal.value.reasons[0].code == "folder_missing"


@for_each_row(
    ("form", "data", "code"),
    [
        ("tar.gz", gz(tar([Item("big.bin", noise(MIB)), Item("x", kind=b"3")])), "file_type"),
        ("tar.gz", gz(tar([Item("big.bin", noise(MIB)), Item("../x.tf")])), "name_dots"),
        ("tar.gz", gz(tar([Item("big.bin", noise(MIB))]))[:-9], "truncated"),
        ("tar.gz", gz(tar([Item("0.tf", size=300 * MIB)])), "ratio"),
        ("zip", module_zip({"a.tf": "x", "../b.tf": "y"}), "name_dots"),
        ("zip", build([Member("a.bin", noise(MIB)), Member("b.tf", b"x", crc=1)]), "crc_mismatch"),
        ("zip", b"", "empty"),
    ],
    ids=["a device", "a name", "a cut end", "a bomb", "a name in a zip", "a wrong CRC in a zip", "nothing"],
)
def test_a_refusal_may_come_after_many_pieces(repack, form: sandboxed.Form, data: bytes, code: str):
    with pytest.raises(sandboxed.Refusal) as refusal:
        repack(data, form)

    assert refusal.value.reasons[0].code == code
    assert children() == []


def test_what_needs_a_zip64_is_refused(monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    sources = {"folder": "", "only": [], "leave_out": [], "copies": {}}
    archive = [(sandboxed.Entry(name, 1, 0o644, is_dir=False), iter([b"1"])) for name in ("a.tf", "b.tf")]

    with pytest.raises(sandboxed.Refusal) as refusal:
        repack_members(iter(archive), sources, ZipWriter(list[bytes]().append))

    assert refusal.value.reasons[0].code == "too_large_repacked"


def test_repacking_that_costs_too_much_is_refused(tmp_path):
    path = tmp_path / "source"
    path.write_bytes(gz(module_tar(MODULE)))
    with path.open("rb") as file, pytest.raises(sandboxed.Refusal) as refusal:
        b"".join(sandboxed.repack(file, sandboxed.Limits(repack_seconds=-1), form="tar.gz"))

    # By its own clock, or by the system's limit where that comes first on a busy machine.
    assert refusal.value.reasons[0].code in ("too_slow", "too_expensive")


@pytest.mark.slow
@pytest.mark.needs("linux")  # reads /proc
def test_memory_stays_flat_in_both_processes(tmp_path):
    path = tmp_path / "source"
    path.write_bytes(gz(tar([Item("big.bin", noise(MIB) * 24)])))
    code = (
        "import sys, resource; sys.path.insert(0, sys.argv[1])\n"
        "from apps.lib.archives import sandboxed as archives; from apps.lib.sandbox import starter\n"
        "size = sum(map(len, archives.repack(open(sys.argv[2], 'rb'), archives.Limits(), form='tar.gz')))\n"
        # Not getrusage for ourselves: what it says is inherited from the process that tests.
        "ours = [line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')]\n"
        "starter.retire(); starter.retired[0].wait()\n"
        "print(size, *ours, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(path)], capture_output=True, text=True, check=True
    )

    size, ours, theirs = map(int, done.stdout.split())
    assert size > 20 * MIB
    assert max(ours, theirs) < 48_000  # kilobytes; both start at some 20,000
    assert theirs > 10_000


def test_nothing_is_written(repack, tmp_path, monkeypatch):
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)

    repack(gz(module_tar(MODULE)))

    assert sorted(tmp_path.iterdir()) == [inside, tmp_path / "source"]
    assert list(inside.iterdir()) == []


def files_of(case: Case) -> dict[str, bytes]:
    """The files of a tar as Python's own reader has them."""
    with tarfile.open(fileobj=io.BytesIO(case.bytes), mode="r:*") as oracle:
        found = [(item.name.removeprefix("./"), oracle.extractfile(item)) for item in oracle if item.isreg()]
        return {name: file.read() for name, file in found if file is not None}
