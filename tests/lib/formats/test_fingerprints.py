import hashlib

import pytest

from apps.lib.formats.fingerprints import Fingerprint, Fingerprints
from tests.rows import for_each_row

CHUNKS = [bytes([n]) * (n * 1000) for n in range(1, 9)]


@for_each_row("with_sha512", [True, False])
@for_each_row("count", [0, 1, 2, 3, 8])
def test_both_digests_of_what_passed(count, with_sha512):
    prints, data = Fingerprints(with_sha512=with_sha512), b"".join(CHUNKS[:count])

    assert b"".join(prints.over(CHUNKS[:count])) == data
    wide = hashlib.sha512(data).hexdigest() if with_sha512 or count < 2 else ""
    assert prints.taken == Fingerprint(hashlib.sha256(data).hexdigest(), wide, len(data))


@for_each_row("count", [0, 1, 2, 5])
def test_what_breaks_passes_through(count):
    def breaking():
        yield from CHUNKS[:count]
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(Fingerprints(with_sha512=True).over(breaking()))
