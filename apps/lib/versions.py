"""Versions: strict SemVer 2.0 without `v` (D10), and the byte key by which databases sort them."""

import re
from dataclasses import dataclass

import semver

from apps.lib.errors import Invalid

MAX_CHARACTERS = 128
MAX_DIGITS = 18

_RELEASE, _PRERELEASE = b"\x01", b"\x00"
_NUMERIC, _WORD, _END = b"\x01", b"\x02", b"\x00"
_EXPECTED = "expected a version like 1.2.0 or 1.2.0-rc.1 (SemVer 2.0, no leading v)"
_LOOSE = re.compile(r"\s*[vV=]*\s*(\d{1,18})(?:\.(\d{1,18}))?(?:\.(\d{1,18}))?([-+][0-9A-Za-z.+-]*)?\s*", re.ASCII)
_IN_FILE_NAME = re.compile(
    r"(?:^|[-_@]|(?<![0-9])\.)[vV]?(\d+\.\d+\.\d+(?:-[0-9A-Za-z]+(?:[.-][0-9A-Za-z]+)*)?(?:\+[0-9A-Za-z.-]+)?)$",
    re.ASCII,
)
_SUFFIX = re.compile(r"\.(?:zip|tar\.gz|tgz|tar\.bz2|tbz2|tar\.xz|txz|tar)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Version:
    """A parsed version. `precedence` is the text without build metadata: equal there means the same version."""

    text: str
    precedence: str
    sort_key: bytes
    is_prerelease: bool

    def __str__(self) -> str:
        return self.text


def parse(text: str) -> Version:
    """Raises Invalid; its hint suggests a spelling."""
    if len(text) > MAX_CHARACTERS:
        raise Invalid(f"a version of {len(text)} characters, expected at most {MAX_CHARACTERS}", hint="Shorten it.")
    # semver's pattern ends in `$`, which allows a final line break, and its \d matches digits of other scripts.
    if not text.isascii() or not text.isprintable():
        raise _invalid(text)
    try:
        parsed = semver.Version.parse(text)
    except ValueError as error:
        raise _invalid(text) from error
    numbers = [*text.partition("+")[0].partition("-")[0].split("."), *(parsed.prerelease or "").split(".")]
    longest = max((number for number in numbers if number.isdigit()), key=len)
    if len(longest) > MAX_DIGITS:
        raise Invalid(
            f"version {text!r} has a number of {len(longest)} digits, expected at most {MAX_DIGITS}",
            hint="Use smaller numbers.",
        )
    core = b"".join(_number(str(number)) for number in (parsed.major, parsed.minor, parsed.patch))
    rest = _RELEASE
    if parsed.prerelease is not None:
        # The byte that ends the list sorts below any further identifier, so a shorter list is lower.
        rest = _PRERELEASE + b"".join(map(_identifier, parsed.prerelease.split("."))) + _END
    return Version(text, text.partition("+")[0], core + rest, is_prerelease=parsed.prerelease is not None)


def sort_key(text: str) -> bytes:
    """At most 400 bytes whose memcmp order is SemVer precedence; equal precedence gives equal keys."""
    return parse(text).sort_key


def guess(filename: str) -> str | None:
    """The version at the end of a file name (`vpc-1.2.0.zip` -> `1.2.0`), None if there is none."""
    stem, suffixes = _SUFFIX.subn("", filename.replace("\\", "/").rpartition("/")[2])
    match = _IN_FILE_NAME.search(stem) if suffixes else None
    if match is None:
        return None
    try:
        return parse(match[1]).text
    except Invalid:
        return None


def _invalid(text: str) -> Invalid:
    hint = "Use three numbers."
    if match := _LOOSE.fullmatch(text):  # what `v1.2` or `01.2.3` probably means
        likely = ".".join(str(int(number or "0")) for number in match.group(1, 2, 3)) + (match[4] or "")
        hint = f"Use {likely}." if semver.Version.is_valid(likely) else hint
    return Invalid(f"found version {text!r}, {_EXPECTED}", hint=hint)


def _identifier(text: str) -> bytes:
    if text.isdigit():
        return _NUMERIC + _number(text)
    return _WORD + text.encode("ascii") + _END


def _number(digits: str) -> bytes:
    """Length first: of two numbers without leading zeros, the longer one is larger."""
    return bytes([len(digits)]) + digits.encode("ascii")
