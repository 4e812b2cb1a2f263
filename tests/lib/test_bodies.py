"""Bodies: read in steps, to the end where the server marks it, by their length where it does not."""

import io
from typing import Any

import pytest

from apps.lib.digests import Tally, counted, is_sha256
from apps.lib.errors import Invalid, Reason, TooLarge
from apps.lib.net import bodies
from tests.rows import for_each_row

BODY = bytes(range(256)) * 10


class Reader:
    """Returns the requested bytes, records the request, and fails on demand."""

    def __init__(self, data: bytes, *, fails_after: int | None = None) -> None:
        self.stream, self.asked, self.fails_after = io.BytesIO(data), list[int](), fails_after

    def read(self, size: int) -> bytes:
        self.asked.append(size)
        if self.fails_after is not None and self.stream.tell() >= self.fails_after:
            raise ConnectionResetError("reset by peer")
        return self.stream.read(size)


def environ(reader: Reader, length: object = None, *, terminated: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {"wsgi.input": reader, "wsgi.input_terminated": terminated}
    return found if length is None else {**found, "CONTENT_LENGTH": length}


def test_it_reads_exactly_the_length_and_never_asks_for_more():
    reader = Reader(BODY + b"next request")

    assert b"".join(bodies.chunks(environ(reader, "2560"), step=1000)) == BODY
    assert reader.asked == [1000, 1000, 560]


@for_each_row("length", [None, "", "2560"])
def test_it_reads_a_terminated_body_to_its_end_with_or_without_a_length(length: str | None):
    assert b"".join(bodies.chunks(environ(Reader(BODY), length, terminated=True))) == BODY


@for_each_row(
    ("length", "terminated", "words"),
    [
        ("2561", False, "short body: found 2560 bytes, expected the 2561"),
        ("2561", True, "short body: found 2560 bytes, expected the 2561"),
        ("2559", True, "long body: found 2560 bytes, expected the 2559"),
        (None, False, "no Content-Length"),
        ("", False, "no Content-Length"),
        ("-1", False, "'-1'"),
        ("-1", True, "'-1'"),
        ("+5", False, r"'\+5'"),
        ("1e3", False, "'1e3'"),
        ("1_0", False, "'1_0'"),
        ("0x10", True, "'0x10'"),
        ("\u0661", False, "plain decimal"),
        ("9" * 19, False, "plain decimal"),
        ("5, 5", False, "plain decimal"),
    ],
)
def test_it_refuses_a_length_that_is_bad_or_untrue(length: str | None, terminated: bool, words: str):
    with pytest.raises(Invalid, match=words):
        list(bodies.chunks(environ(Reader(BODY), length, terminated=terminated)))


@for_each_row("terminated", [True, False])
def test_a_body_of_no_bytes_is_a_body(terminated: bool):
    assert list(bodies.chunks(environ(Reader(b""), "0", terminated=terminated))) == []


@for_each_row("terminated", [True, False])
def test_a_broken_connection_has_its_own_code(terminated: bool):
    pieces = bodies.chunks(environ(Reader(BODY, fails_after=1000), "2560", terminated=terminated), step=1000)

    assert len(next(pieces)) == 1000
    with pytest.raises(bodies.Disconnected, match="reset by peer") as broken:
        next(pieces)
    assert broken.value.code == "disconnected"


def test_counting_stops_at_the_limit_and_names_it():
    passed: list[bytes] = []
    pieces = counted([b"123", b"45", b"6"], limit=5, what="the archive", setting="LARDER_X")

    with pytest.raises(TooLarge, match=r"the archive is larger than 5 bytes \(limit LARDER_X\)"):
        passed.extend(pieces)

    assert passed == [b"123", b"45"]


def test_a_tally_counts_and_hashes():
    tally = Tally()
    tally.update(b"ab")
    tally.update(b"c")

    assert tally.size == 3
    assert tally.hexdigest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert is_sha256(tally.hexdigest)
    assert not is_sha256(tally.hexdigest.upper())
    assert not is_sha256(tally.hexdigest + "\n")


def test_a_reason_survives_json_and_reads_as_a_sentence():
    reason = Reason("crc_mismatch", "CRC 1", "CRC 2", "Pack it again.", "main.tf")

    assert Reason.from_dict(reason.as_dict()) == reason
    assert Reason.from_dict({"code": "x", "later": "field"}) == Reason("x", "", "", "")
    assert reason.sentence == "In main.tf: found CRC 1, expected CRC 2. Pack it again."
