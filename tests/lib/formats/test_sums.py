"""SHA256SUMS: what crashes or confuses a client is refused by line, and what is written is read back."""

import hashlib
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.lib.archives.sandboxed import Refusal
from apps.lib.formats import sums
from tests.builders.providers import dist
from tests.rows import for_each_row

A, B = "a" * 64, "0123456789abcdef" * 4
ONE, TWO = f"{A}  one.zip\n", f"{B}  two.zip\n"
CASES = (
    ("a blank line first", f"\n{ONE}", "sums_blank_line", "line 1"),
    ("a blank line between", f"{ONE}\n{TWO}", "sums_blank_line", "line 2"),
    ("a second line break at the end", f"{ONE}{TWO}\n", "sums_blank_line", "line 3"),
    ("a line of spaces", f"{ONE}  \n{TWO}", "sums_blank_line", "line 2"),
    ("a line of tabs and form feeds", f"{ONE}\t\v\f\n{TWO}", "sums_blank_line", "line 2"),
    ("spaces at the end", f"{ONE} ", "sums_blank_line", "line 2"),
    ("nothing but a line break", "\n", "sums_blank_line", "line 1"),
    ("a binary mark", f"{ONE}{B} *two.zip\n", "sums_binary_mark", "line 2"),
    ("Windows line endings", (ONE + TWO).replace("\n", "\r\n"), "sums_crlf", "lines 1, 2"),
    ("one Windows line ending", f"{ONE}{B}  two.zip\r\n", "sums_crlf", "line 2"),
    ("an upper-case digest", f"{ONE}{B.upper()}  two.zip\n", "sums_upper_case", "line 2"),
    ("a digest in mixed case", f"{A[:-1]}A  one.zip\n", "sums_upper_case", "line 1"),
    ("a short digest", f"{ONE}{B[:-1]}  two.zip\n", "sums_malformed", "63 characters in line 2"),
    ("a SHA-512 digest", f"{B * 2}  two.zip\n", "sums_malformed", "128 characters"),
    ("a digest that is not hex", f"{'g' * 64}  two.zip\n", "sums_malformed", "not hex"),
    ("a digest alone", f"{ONE}{B}\n", "sums_malformed", "1 field in line 2"),
    ("a digest and spaces", f"{ONE}{B}  \n", "sums_malformed", "1 field in line 2"),
    ("a name alone", f"{ONE}two.zip\n", "sums_malformed", "1 field in line 2"),
    ("three fields", f"{ONE}{B}  two.zip again\n", "sums_malformed", "3 fields in line 2"),
    ("one space", f"{B} two.zip\n", "sums_malformed", "space"),
    ("three spaces", f"{B}   two.zip\n", "sums_malformed", "space"),
    ("a tab", f"{B}\ttwo.zip\n", "sums_malformed", "space"),
    ("a space in front", f" {B}  two.zip\n", "sums_malformed", "space"),
    ("a space behind", f"{B}  two.zip \n", "sums_malformed", "space"),
    ("a comment", f"# packages\n{ONE}", "sums_malformed", "a comment in line 1"),
    ("a BSD line", f"SHA256 (one.zip) = {A}\n", "sums_malformed", "4 fields"),
    ("a signature around it", f"-----BEGIN PGP SIGNED MESSAGE-----\n{ONE}", "sums_malformed", "line 1"),
    ("a carriage return inside", f"{A}  one.zip\r{B}  two.zip\n", "sums_malformed", "4 fields"),
    ("a name twice", f"{ONE}{TWO}{B}  one.zip\n", "sums_duplicate", "line 1 again in line 3"),
    ("a line twice", f"{ONE}{ONE}", "sums_duplicate", "line 2"),
    ("a folder", f"{A}  ./one.zip\n", "sums_name", "a slash"),
    ("a Windows folder", f"{A}  dist\\one.zip\n", "sums_name", "a slash"),
    ("dots for a name", f"{A}  ..\n", "sums_name", "dots"),
    ("two marks", f"{A}  *one.zip\n", "sums_name", "'*'"),
    ("a control character", f"{A}  one\x1b.zip\n", "sums_name", r"\x1b"),
    ("a delete", f"{A}  one\x7f.zip\n", "sums_name", r"\x7f"),
    ("an accent", f"{A}  \u00fcber.zip\n", "sums_name", "'\u00fc'"),
    ("a space that only some programs know", f"{A}  one\u00a0two.zip\n", "sums_name", r"\xa0"),
    ("a name without end", f"{A}  {'n' * 256}\n", "sums_name", "256 characters"),
)  # fmt: skip
BYTES = (
    ("nothing", b"", "sums_empty", "0 bytes"),
    ("a byte order mark", b"\xef\xbb\xbf" + ONE.encode(), "sums_encoding", "byte order mark in line 1"),
    ("UTF-16", ONE.encode("utf-16"), "sums_encoding", "byte order mark"),
    ("UTF-16 without a mark", ONE.encode("utf-16-le"), "sums_encoding", "zero byte in line 1"),
    ("a zero byte", f"{ONE}{B}  two\0.zip\n".encode(), "sums_encoding", "zero byte in line 2"),
    ("not UTF-8", f"{ONE}{B}  ".encode() + b"\xfc.zip\n", "sums_encoding", "0xfc (not UTF-8) in line 2"),
)  # fmt: skip
ALL = [(name, text.encode(), code, told) for name, text, code, told in CASES] + list(BYTES)

names = st.text(
    alphabet=sorted(set(string.ascii_letters + string.digits + string.punctuation) - set("/\\*")),
    min_size=1,
    max_size=sums.LONGEST_NAME,
).filter(lambda name: name not in (".", ".."))
digests = st.binary(max_size=8).map(lambda data: hashlib.sha256(data).hexdigest())


@for_each_row(("data", "code", "told"), [case[1:] for case in ALL], ids=[case[0] for case in ALL])
def test_it_refuses_what_clients_stumble_over(data: bytes, code: str, told: str):
    with pytest.raises(Refusal) as refusal:
        sums.parse(data, file="x_SHA256SUMS")

    reason = refusal.value.reasons[0]
    assert (reason.code, reason.file) == (code, "x_SHA256SUMS")
    assert told in reason.found
    assert reason.expected
    assert reason.hint
    assert str(refusal.value).isprintable()


def test_it_reads_what_goreleaser_writes():
    files = dist("dns", "1.2.0")
    data = files.pop("terraform-provider-dns_1.2.0_SHA256SUMS")

    assert sums.parse(data) == {name: hashlib.sha256(body).hexdigest() for name, body in files.items()}


@for_each_row(
    ("text", "read"),
    [
        (ONE, {"one.zip": A}),
        (TWO + ONE, {"two.zip": B, "one.zip": A}),
        ((ONE + TWO).rstrip(), {"one.zip": A, "two.zip": B}),
        (f"{A}  b\n{A}  a\n", {"b": A, "a": A}),
    ],
    ids=["one line", "in their order", "no line break at the end", "two files of equal bytes"],
)
def test_lines_are_read_in_their_order(text: str, read: dict[str, str]):
    assert list(sums.parse(text.encode()).items()) == list(read.items())


def test_a_file_at_the_limit_is_read_and_one_byte_more_names_the_setting():
    assert sums.parse(ONE.encode(), most_bytes=len(ONE)) == {"one.zip": A}
    with pytest.raises(Refusal, match=rf"at most {len(ONE) - 1} bytes \(sums_max_bytes of LARDER_LIMITS\)") as refusal:
        sums.parse(ONE.encode(), most_bytes=len(ONE) - 1, setting="sums_max_bytes of LARDER_LIMITS")

    assert refusal.value.reasons[0].code == "sums_too_large"


@for_each_row("data", [b"\n" * 10_000_000, ONE.encode() * 130_000], ids=["line breaks", "lines"])
def test_ten_megabytes_are_refused_by_their_size(data: bytes):
    with pytest.raises(Refusal) as refusal:
        sums.parse(data)

    assert [reason.code for reason in refusal.value.reasons] == ["sums_too_large"]


def test_a_habit_is_told_once_and_other_faults_beside_it_up_to_twenty():
    data = "".join(f"{A}  {number}.zip\r\n" for number in range(9)) + f"\n{B} *x.zip\n"
    with pytest.raises(Refusal) as refusal:
        sums.parse(data.encode())

    assert [(reason.code, reason.found) for reason in refusal.value.reasons] == [
        ("sums_crlf", "a Windows line ending (CRLF) in lines 1, 2, 3 and more"),
        ("sums_blank_line", "a blank line in line 10"),
        ("sums_binary_mark", "a '*' before the file name in line 11"),
    ]
    with pytest.raises(Refusal) as refusal:
        sums.parse("".join(f"{A}  /{number}\n" for number in range(30)).encode())
    assert len(refusal.value.reasons) == 20


def test_what_is_written_is_sorted_and_ends_in_one_line_break():
    assert sums.canonical({"two.zip": B, "one.zip": A}) == (ONE + TWO).encode()


@given(st.dictionaries(names, digests, min_size=1, max_size=30))
def test_what_is_written_is_read_back_equal(files: dict[str, str]):
    data = sums.canonical(files)

    assert sums.parse(data) == files
    assert list(sums.parse(data)) == sorted(files)
    assert sums.canonical(sums.parse(data)) == data


@for_each_row(
    "files",
    [{}, {"": A}, {"a b": A}, {"a/b": A}, {"a": A.upper()}, {"a": "b"}, {f"a\n{B}  b": A}, {"\u00fc": A}],
    ids=["none", "no name", "a space", "a folder", "upper case", "no digest", "a second line inside", "an accent"],
)
def test_nothing_is_written_that_would_not_be_read(files: dict[str, str]):
    with pytest.raises(Refusal):
        sums.canonical(files)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes):
    try:
        files = sums.parse(data)
    except Refusal:
        return
    assert sums.parse(sums.canonical(files)) == files


@given(
    st.lists(st.sampled_from([A, B, "  ", " ", "\n", "\r\n", "*", "x", "\t", "/", "#", "\0", "A" * 64]), max_size=12)
)
def test_whatever_is_read_has_only_lines_of_the_one_shape(parts: list[str]):
    data = "".join(parts).encode()
    try:
        files = sums.parse(data)
    except Refusal:
        return
    assert data.rstrip(b"\n") == "\n".join(f"{digest}  {name}" for name, digest in files.items()).encode()


def test_sums_of_another_registry_are_read_as_clients_find_them():
    digest, other = "a" * 64, "b" * 64
    data = (
        f"{digest}  one.zip\r\n\n# a comment\n{other.upper()}\ttwo.zip   more\n{other} one.zip\nshort three.zip\n"
        f"{digest}\n{digest} *four.zip"
    ).encode()
    assert sums.read_as_clients_do(data) == {"one.zip": digest, "two.zip": other, "*four.zip": digest}
    assert sums.read_as_clients_do(b"\xff\xfe\0") == {}
