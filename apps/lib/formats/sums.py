"""SHA256SUMS: one digest and one file name on each line, as `sha256sum` and GoReleaser write it.

Publisher-signed sums are served byte for byte, so nothing can be corrected here: lines that crash a client (a blank
line), or make it drop all hashes but those of its own platform, are refused by line and name.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from apps.lib.amounts import amount_text
from apps.lib.archives.rules.limits import at_most
from apps.lib.archives.rules.outcome import MAX_REASONS, Refusal, refuse, shown
from apps.lib.digests import is_sha256
from apps.lib.errors import Reason

MAX_BYTES = 1024 * 1024
LONGEST_NAME = 255

_GAP = "  "
_SHAPE = "64 lower-case hex digits, two spaces, a file name"
_AGAIN = "Create it again with sha256sum, and sign it again."
# Space between fields for clients: Go's bytes.Fields. They crash on a line of only space.
_SPACE = " \t\r\v\f"
_FIELDS = re.compile(f"[{_SPACE}]+")
_NAMED_LINES = 3
_MAX_FAULTS = 1000  # a megabyte of line breaks has a million faults


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault of one line. Faults of equal code and `found` are reported together."""

    code: str
    line: int
    found: str
    expected: str
    hint: str = _AGAIN


def parse(data: bytes, *, most_bytes: int = MAX_BYTES, setting: str = "", file: str = "") -> dict[str, str]:
    """The sha256 of each file by its name, in the order of the lines.

    `setting` is the variable behind `most_bytes`, `file` the name of the sums in a refusal. Raises Refusal.
    """
    if not data:
        raise refuse("sums_empty", "a file of 0 bytes", "a line for each file", "Upload it again.", file)
    if len(data) > most_bytes:
        expected = at_most(most_bytes, "bytes", setting)
        raise refuse("sums_too_large", amount_text(len(data)), expected, "List only this version's files.", file)
    # Text after the last line break is a line if it is not empty.
    lines = _decoded(data, file).removesuffix("\n").split("\n")
    faulty = (fault for number, line in enumerate(lines, start=1) for fault in _faults(number, line))
    faults = list(islice(faulty, _MAX_FAULTS))
    if faults:
        raise Refusal(_reasons(faults, file))
    pairs = [(line[66:], line[:64]) for line in lines]
    repeated = list(islice(_repeated([name for name, _ in pairs]), _MAX_FAULTS))
    if repeated:
        raise Refusal(_reasons(repeated, file))
    return dict(pairs)


def read_as_clients_do(data: bytes) -> dict[str, str]:
    """The sha256 of each file by its name in sums of another registry, without the rules of `parse`.

    As clients find them: fields between any space, the first line of a name counts, and lines of another shape do not.
    """
    found: dict[str, str] = {}
    for line in data.split(b"\n"):
        fields = line.split()
        if len(fields) > 1 and re.fullmatch(rb"[0-9A-Fa-f]{64}", fields[0]):
            found.setdefault(fields[1].decode("utf-8", "replace"), fields[0].decode().lower())
    return found


def canonical(digests: Mapping[str, str]) -> bytes:
    """Bytes that `parse` reads back as the same digests, sorted by name. Raises Refusal if there are none."""
    lines = [f"{digest}{_GAP}{name}\n" for name, digest in sorted(digests.items())]
    data = "".join(lines).encode()
    if parse(data, most_bytes=len(data)) != dict(digests):
        raise refuse("sums_name", "a line break in a name", "plain file names in ASCII")
    return data


def _decoded(data: bytes, file: str) -> str:
    found, at = "", 0
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        found = "a byte order mark"
    elif b"\0" in data:
        found, at = "a zero byte", data.index(0)
    else:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            found, at = f"the byte {data[error.start]:#04x} (not UTF-8)", error.start
    line = data.count(b"\n", 0, at) + 1
    raise refuse("sums_encoding", f"{found} in line {line}", "plain ASCII text", _AGAIN, file)


def _faults(number: int, line: str) -> Iterator[_Fault]:
    """The faults of a line. `sha256sum -b` writes the binary mark, so that has its own fault."""
    if not line.strip(_SPACE):
        blank = "Remove it, between lines or after the last one, and sign the file again."
        yield _Fault("sums_blank_line", number, "a blank line", "no blank lines: they crash every client", blank)
        return
    if line.endswith("\r"):
        yield _Fault("sums_crlf", number, "a Windows line ending (CRLF)", "a plain line feed")
        line = line[:-1]
    fields = _FIELDS.split(line.strip(_SPACE))
    if re.fullmatch(r"[0-9A-Fa-f]{64} \*[^ ]+", line):
        hint = "Write it with `sha256sum --text`, and sign it again."
        yield _Fault("sums_binary_mark", number, "a '*' before the file name", "two spaces and the name", hint)
    elif line.startswith("#"):
        yield _Fault("sums_malformed", number, "a comment", f"only lines of {_SHAPE}")
    elif len(fields) != 2:  # noqa: PLR2004 - digest and name
        counted = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
        yield _Fault("sums_malformed", number, counted, _SHAPE)
    elif not re.fullmatch("[0-9A-Fa-f]{64}", fields[0]):
        found = f"a digest of {len(fields[0])} characters" if len(fields[0]) != 64 else "a digest that is not hex"  # noqa: PLR2004 - sha256
        yield _Fault("sums_malformed", number, found, _SHAPE)
    elif line != _GAP.join(fields):
        yield _Fault("sums_malformed", number, "other space than two spaces between the fields", _SHAPE)
    else:
        yield from _misspelt(number, line[:64], line[66:])


def _misspelt(number: int, digest: str, name: str) -> Iterator[_Fault]:
    if not is_sha256(digest):
        yield _Fault("sums_upper_case", number, "an upper-case digest", "lower-case hex digits")
    mark = next((mark for mark in name if mark in "/\\*" or not "!" <= mark <= "~"), "")
    odd = f"the character {shown(mark)!r}" if mark else ""  # what no release file has in its name
    if name in (".", ".."):
        odd = "nothing but dots"
    elif len(name) > LONGEST_NAME:
        odd = f"{len(name)} characters"
    elif mark in ("/", "\\"):
        odd = "a slash"
    if odd:
        hint = "List the files of one folder by their plain names."
        yield _Fault("sums_name", number, f"{odd} in the name {shown(name)!r}", "a plain file name in ASCII", hint)


def _repeated(names: Sequence[str]) -> Iterator[_Fault]:
    first: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        before = first.setdefault(name, number)
        if before != number:
            found = f"the file {shown(name)!r} of line {before} again"
            yield _Fault("sums_duplicate", number, found, "each file once")


def _reasons(faults: Sequence[_Fault], file: str) -> list[Reason]:
    """One reason for each kind of fault, by the first line that has it: a repeated mistake is reported once."""
    kinds: dict[tuple[str, str], list[_Fault]] = {}
    for fault in faults:
        kinds.setdefault((fault.code, fault.found), []).append(fault)
    reasons = []
    for (code, found), same in islice(kinds.items(), MAX_REASONS):
        numbers = ", ".join(str(fault.line) for fault in same[:_NAMED_LINES])
        places = f"line {numbers}" if len(same) == 1 else f"lines {numbers}"
        more = " and more" if len(same) > _NAMED_LINES else ""
        reasons.append(Reason(code, f"{found} in {places}{more}", same[0].expected, same[0].hint, shown(file)))
    return reasons
