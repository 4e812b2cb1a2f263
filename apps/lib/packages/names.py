"""The file names of a provider's build folder, as GoReleaser gives them and clients look for them in SHA256SUMS."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from apps.lib import versions
from apps.lib.archives.rules.outcome import Refusal, shown
from apps.lib.errors import Invalid, Reason

# The platforms of Go, by which clients ask for packages: `linux_amd64`.
SYSTEMS = (
    "linux", "darwin", "windows", "freebsd", "openbsd", "netbsd", "dragonfly", "solaris", "illumos", "android",
)  # fmt: skip
ARCHITECTURES = (
    "amd64", "arm64", "386", "arm", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64", "ppc64le", "riscv64",
    "s390x",
)  # fmt: skip

_OTHER_NAMES = {
    "macos": "darwin", "mac": "darwin", "osx": "darwin", "apple": "darwin", "win": "windows", "win32": "windows",
    "win64": "windows", "gnu": "linux", "musl": "linux",
    "x86_64": "amd64", "x64": "amd64", "x86-64": "amd64", "amd64_v1": "amd64", "amd64_v2": "amd64",
    "amd64_v3": "amd64", "aarch64": "arm64", "armv8": "arm64", "arm64_v8.0": "arm64", "i386": "386", "i486": "386",
    "i586": "386", "i686": "386", "x86": "386", "32bit": "386", "64bit": "amd64", "armhf": "arm", "armel": "arm",
    "armv5": "arm", "armv6": "arm", "armv6l": "arm", "armv7": "arm", "armv7l": "arm",
}  # fmt: skip


def nearest(word: str, known: tuple[str, ...]) -> str | None:
    """The known word that was probably meant by this one."""
    small = word.lower()
    if small in known:
        return small
    if _OTHER_NAMES.get(small) in known:
        return _OTHER_NAMES[small]
    return next(iter(get_close_matches(small, known, n=1, cutoff=0.6)), None)


Role = Literal["package", "sums", "signature", "manifest", "docs", "ignored"]

_START, _END = "terraform-provider-", ".zip"
_SHAPE = "terraform-provider-<type>_<version>_<os>_<arch>.zip"
_DOCS = "docs.zip"
_UNIVERSAL = "all"  # what GoReleaser calls a universal binary for macOS
_ABOUT_THE_BUILD = ("artifacts.json", "metadata.json", "config.yaml", "CHANGELOG.md")
_SBOM = ".sbom.json"  # after the name of a package, of a source archive, or of a bare program
# Sums, a signature or a package in a form that no client reads: ignoring it would silently publish less than was meant.
_NEAR_MISS = re.compile(
    rf"_(?:sha256sums?(?:\.(?:sig|asc|gpg))?|(?:{'|'.join(SYSTEMS)})_\w+\.(?:tar\.\w+|tgz|txz|gz|7z))", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class PackageName:
    """The parts of a package's file name; `str()` is the name."""

    type: str
    version: str
    os: str
    arch: str

    def __str__(self) -> str:
        return f"{_START}{self.type}_{self.version}_{self.os}_{self.arch}{_END}"

    @property
    def platform(self) -> str:
        return f"{self.os}_{self.arch}"


def name_of(filename: str) -> PackageName | None:
    """Reads the name of a package; None for the name of another file.

    Raises Refusal (`package_name`) if its version or platform is one that no client asks for.
    """
    if not (filename.startswith(_START) and filename.endswith(_END) and filename.isprintable() and "/" not in filename):
        return None
    parts = filename.removeprefix(_START).removesuffix(_END).split("_", 3)
    if len(parts) != 4 or not all(parts):  # noqa: PLR2004 - the four of PackageName
        return None
    name = PackageName(*parts)
    reasons = list(_faults(name))
    if reasons:
        raise Refusal(reasons)
    return name


def role_of(filename: str, *, type: str, version: str) -> Role:  # noqa: A002 - the field's word
    """The role of a file of the build folder for that version. A package's platform may be unknown: see `name_of`."""
    stem = f"{_START}{type}_{version}_"
    if not filename.startswith(stem):
        return "ignored"
    rest = filename.removeprefix(stem)
    roles: dict[str, Role] = {
        "SHA256SUMS": "sums",
        "SHA256SUMS.sig": "signature",
        "manifest.json": "manifest",
        _DOCS: "docs",  # no package has this name, which has no processor
    }
    is_package = rest.endswith(_END) and rest not in (_END, _DOCS) and "/" not in rest
    return "package" if is_package else roles.get(rest, "ignored")


def is_companion(filename: str, *, type: str, version: str) -> bool:  # noqa: A002 - the field's word
    """Return whether the file is an SBOM, a source archive or the like of that version: SHA256SUMS may list it, no
    client asks for it.

    What ends as a zip does was meant to be a package. GoReleaser writes a dash into the names of source archives.
    """
    stems = tuple(f"{_START}{type}{joint}{version}{end}" for joint in "_-" for end in "_.")
    if not filename.startswith(stems) or filename.lower().endswith(_END):
        return False
    return role_of(filename, type=type, version=version) == "ignored"


def is_byproduct(filename: str, *, type: str, version: str) -> bool:  # noqa: A002 - the field's word
    """Return whether a build leaves the file beside the published ones, so that a script may send the whole folder.

    SHA256SUMS.<key id>.sig is such a file: it repeats SHA256SUMS.sig under the name of its key.
    """
    if filename in _ABOUT_THE_BUILD or filename.endswith(_SBOM):
        return True
    stem = f"{_START}{type}_{version}"
    is_near_miss = _NEAR_MISS.fullmatch(filename.removeprefix(stem)) is not None
    return is_companion(filename, type=type, version=version) and not is_near_miss


def _faults(name: PackageName) -> Iterator[Reason]:
    """At most one of the version, and one of the platform."""
    file = shown(str(name))
    try:
        versions.parse(name.version)
    except Invalid as error:
        found = f"the version {shown(name.version)!r} in the name"
        yield Reason("package_name", found, "a version like 1.2.0 (SemVer 2.0, no leading v)", error.hint, file)
    if (name.os, name.arch) == ("darwin", _UNIVERSAL):
        hint = "Pack the universal program twice: clients ask for darwin_amd64 and darwin_arm64."
        yield Reason("package_name", "the platform darwin_all in the name", "one os and one arch", hint, file)
        return
    for what, word, known in (("os", name.os, SYSTEMS), ("arch", name.arch, ARCHITECTURES)):
        if word not in known:
            likely = nearest(word, known)
            meant = f"Clients call it {likely}: rename the file." if likely else f"Name it {_SHAPE}."
            found = f"the {what} {shown(word)!r} in the name"
            yield Reason("package_name", found, f"one of {', '.join(known)}", meant, file)
            return
