import pytest

from apps.http.byte_ranges import NotSatisfiable, requested_range
from tests.rows import for_each_row

SIZE, ETAG = 100, '"one"'


@for_each_row(
    ("header", "found"),
    [
        ("bytes=0-0", range(1)),
        ("bytes=10-", range(10, 100)),
        ("bytes=-7", range(93, 100)),
        ("bytes=-500", range(100)),
        ("bytes=90-500", range(90, 100)),
        ("BYTES=3-4", range(3, 5)),
        pytest.param(f"bytes=90-{'9' * 8000}", range(90, 100), id="an endless last byte"),
        pytest.param(f"bytes=-{'9' * 8000}", range(100), id="an endless suffix"),
        pytest.param(f"bytes={'0' * 8000}5-{'0' * 30}7", range(5, 8), id="endless zeros"),
    ],
)
def test_one_range_is_found(header, found):
    assert requested_range({"Range": header}, size=SIZE, etag=ETAG) == found


@for_each_row("header", ["", "bytes=-", "bytes=0-1,4-5", "items=0-1", "bytes=" + "9" * 30, "bytes=1-٣"])
def test_what_is_no_single_range_asks_for_everything(header):
    assert requested_range({"Range": header}, size=SIZE, etag=ETAG) is None


@for_each_row(
    "header",
    [
        *("bytes=100-", "bytes=-0", "bytes=500-600", "bytes=5-3", f"bytes=-{'0' * 30}", f"bytes={'9' * 30}-"),
        pytest.param(f"bytes={'9' * 8000}-", id="endless"),
        pytest.param(f"bytes={'9' * 4000}-{'9' * 3000}", id="endless and backwards"),
    ],
)
def test_a_range_behind_the_last_byte_or_backwards_is_refused(header):
    for size in (SIZE, 0):
        with pytest.raises(NotSatisfiable):
            requested_range({"Range": header}, size=size, etag=ETAG)


@for_each_row(("condition", "found"), [('"one"', range(4)), ('"two"', None), ('W/"one"', None)])
def test_if_range_holds_only_for_the_same_bytes(condition, found):
    assert requested_range({"Range": "bytes=0-3", "If-Range": condition}, size=SIZE, etag=ETAG) == found
