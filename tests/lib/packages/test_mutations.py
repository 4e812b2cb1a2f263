"""Hundreds of damaged packages through the child: a listing that is true, or a refusal; never anything else."""

import hashlib
import random
from pathlib import Path

import pytest

from apps.lib.packages import sandboxed
from tests.builders.providers import PROGRAM, manifest, package, program, universal
from tests.builders.zips import Member, build, streamed
from tests.lib.archives.test_mutations import ZIP_WORDS, mutated
from tests.rows import for_each_row

LIMITS = sandboxed.limits(packed_bytes=1 << 20, unpacked_bytes=1 << 20)
EXTRA = {"README.md": b"# dns\n", "terraform-registry-manifest.json": manifest("5.0")}
HEADS = (program("linux", "amd64"), program("windows", "amd64"), universal(0x01000007, 0x0100000C))
ZIPS = (
    package("dns", "1.2.0", "linux", "amd64", extra=EXTRA),
    package("dns", "1.2.0", "windows", "amd64", extra=[streamed("LICENSE", b"free\n" * 99)]),
    build([Member("docs/"), Member("terraform-provider-dns", program("freebsd", "arm") + b"x" * 999, method=0)]),
)


def damaged_zip(rng: random.Random) -> bytes:
    return mutated(rng, rng.choice(ZIPS), ZIP_WORDS)


def damaged_program(rng: random.Random) -> bytes:
    """A whole zip of a program whose head is damaged, or cut, and a manifest that is."""
    head = mutated(rng, rng.choice(HEADS)[: rng.choice((40, 400, 8192))], (b"\x7fELF", b"MZ", b"\xff\xff\xff\xff"))
    inside = Member("terraform-registry-manifest.json", mutated(rng, manifest("5.0"), (b"[", b"{", b'"', b"\\u", b"9")))
    extra = [inside] if rng.random() < 0.5 else []
    return build([*extra, Member("terraform-provider-dns_v1", head, mode=PROGRAM)])


@pytest.mark.slow
@for_each_row("damaged", [damaged_zip, damaged_program], ids=["zip", "program"])
def test_a_damaged_package_is_listed_truly_or_refused(tmp_path: Path, damaged):
    rng = random.Random(1)
    path = tmp_path / "package.zip"
    codes = [verdict(path, damaged(rng)) for _ in range(50)]

    # "unreadable" is the net under the parsers: nothing may have fallen into it.
    assert not {"unreadable", "too_expensive", "too_slow"} & set().union(*codes)
    assert sum(map(bool, codes)) > 20
    assert list(tmp_path.iterdir()) == [path]


def verdict(path: Path, data: bytes) -> set[str]:
    """The codes of the refusal; none where there is a listing, which must then be true."""
    path.write_bytes(data)
    with path.open("rb") as file:
        try:
            listing = sandboxed.inspect(file, LIMITS, provider_type="dns", os="linux", arch="amd64")
        except sandboxed.Refusal as refusal:
            return {reason.code for reason in refusal.reasons}
    assert (listing.digest, listing.size) == (hashlib.sha256(data).hexdigest(), len(data))
    return set()
