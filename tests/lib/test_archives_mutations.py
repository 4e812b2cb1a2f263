"""Two thousand damaged zips: a listing or a refusal comes out, never another exception."""

import io
import random

import pytest

from apps.lib import archives
from tests.builders.archives import module_zip
from tests.builders.zips import Member, build, extra, streamed

LIMITS = archives.Limits(unpacked_bytes=1 << 20, file_bytes=1 << 20)
EXTREMES = (b"\x00\x00\x00\x00", b"\xff\xff\xff\xff", b"\xff\xff", b"\x7f\xff\xff\xff", b"PK\x05\x06", b"PK\x01\x02")
SOURCES = (
    module_zip(comment=b"0123456789abcdef"),
    build([streamed("main.tf", b"a = 1\n" * 99), streamed("b.tf", b"", signed=False), Member("d/")]),
    build([Member("\u00fc.tf", b"x" * 300, extra=extra(0x5455, bytes(9))), Member("y.tf", b"y", method=0)]),
)


def mutated(rng: random.Random) -> bytes:
    data = bytearray(rng.choice(SOURCES))
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at, length = rng.randrange(len(data)), rng.randrange(1, 20)
        how = rng.randrange(5)
        if how == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            data[at : at + 4] = rng.choice(EXTREMES)
        elif how == 2:
            del data[at : at + length]
        elif how == 3:
            data[at:at] = rng.randbytes(length)
        else:
            data[at:at] = data[at : at + length]
    return bytes(data)


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_zip_is_listed_or_refused(seed: int):
    rng = random.Random(seed)

    codes = [codes_of(mutated(rng)) for _ in range(100)]

    # "unreadable" is the net under the parser: nothing may have fallen into it.
    assert "unreadable" not in set().union(*codes)
    assert sum(map(bool, codes)) > 50


def codes_of(data: bytes) -> set[str]:
    """The codes of the refusal; none where there is a listing."""
    try:
        listing = archives.read(io.BytesIO(data), LIMITS, ["*.tf"])
    except archives.Refusal as refusal:
        return {reason.code for reason in refusal.reasons}
    return set() if listing.digest else {"no listing"}
