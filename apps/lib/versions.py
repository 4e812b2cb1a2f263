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
    return Version(
        text=text,
        precedence=text.partition("+")[0],
        sort_key=_key(parsed),
        is_prerelease=parsed.prerelease is not None,
    )


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
    likely = _likely(text)
    return Invalid(f"found version {text!r}, {_EXPECTED}", hint=f"Use {likely}." if likely else "Use three numbers.")


def _likely(text: str) -> str | None:
    """The version that `v1.2` or `01.2.3` probably means."""
    match = _LOOSE.fullmatch(text)
    if match is None:
        return None
    likely = ".".join(str(int(number or "0")) for number in match.group(1, 2, 3)) + (match[4] or "")
    return likely if semver.Version.is_valid(likely) else None


def _key(version: semver.Version) -> bytes:
    core = b"".join(_number(str(number)) for number in (version.major, version.minor, version.patch))
    if version.prerelease is None:
        return core + _RELEASE
    # The byte that ends the list sorts below any further identifier, so a shorter list is lower.
    return core + _PRERELEASE + b"".join(map(_identifier, version.prerelease.split("."))) + _END


def _identifier(text: str) -> bytes:
    if text.isdigit():
        return _NUMERIC + _number(text)
    return _WORD + text.encode("ascii") + _END


def _number(digits: str) -> bytes:
    """Length first: of two numbers without leading zeros, the longer one is larger."""
    return bytes([len(digits)]) + digits.encode("ascii")
