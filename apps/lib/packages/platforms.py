"""The platforms of Go, by which clients ask for packages: `linux_amd64`."""

from difflib import get_close_matches

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
