"""Numbers of bytes in sentences about limits."""

from apps.lib.amounts import MIB, amount_text, limit_text
from apps.lib.archives.rules.limits import at_most
from tests.rows import for_each_row


@for_each_row(
    ("size", "words"),
    [(100 * MIB, "100 MiB"), (2048 * MIB, "2,048 MiB"), (0, "0 bytes"), (1_500_000, "1,500,000 bytes")],
)
def test_a_limit_is_named_as_it_was_set(size, words):
    assert limit_text(size) == words
    assert at_most(size, "bytes", "LARDER_X") == f"at most {words} (LARDER_X)"


def test_another_unit_stays_as_it_is():
    assert at_most(65000, "entries") == "at most 65000 entries"
    assert at_most(MIB, "bytes, packed") == "at most 1 MiB, packed"


@for_each_row("excess", [1, 100_000])
def test_what_breaks_a_limit_reads_larger_than_it(excess):
    assert amount_text(100 * MIB + excess) == "100.1 MiB"
    assert amount_text(2000) == "2,000 bytes"
