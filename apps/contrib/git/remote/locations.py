"""The location of a module that a registry names, in the syntax of go-getter:
`git::https://host/acme/vpc.git//sub?ref=v1.0.0`.

Clients take many more forms. Here is fetched what is Git over https, at a commit or a tag; all else is explained.
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl

from apps.contrib.git.remote import remotes
from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.remote.remotes import Remote
from apps.lib.errors import Invalid

MAX_CHARACTERS = 2000
MAX_FOLDER_CHARACTERS = 200
HINT = "Ask the registry's operators, or connect the module's Git repository itself."
_FORCED = re.compile(r"(?P<getter>[A-Za-z0-9]+)::(?P<rest>.*)", re.DOTALL)
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# Of forges that clients know without git:: before their names.
_SHORT_HOSTS = ("github.com/", "bitbucket.org/", "gitlab.com/")
_USER = re.compile(r"//[^/]*@")
_DEPTH = re.compile(r"\d{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Location:
    """`ref`: a tag without refs/tags/, or a full commit id. `folder`: empty for all of the repository."""

    remote: Remote
    ref: str
    folder: str = ""

    @property
    def commit(self) -> str:
        """Empty if the ref is a tag."""
        return self.ref if is_commit(self.ref) else ""


def is_commit(text: str) -> bool:
    """A full id, SHA-1 or SHA-256."""
    return _COMMIT.fullmatch(text) is not None


def parse(text: str) -> Location:
    """Raises GitFailed, which is final, for what is not fetched."""
    text = text.strip()
    if not 0 < len(text) <= MAX_CHARACTERS or not text.isascii() or not text.isprintable() or " " in text:
        raise _wrong(f"is empty, has more than {MAX_CHARACTERS:,} characters, or others than plain ASCII")
    rest = _without_getter(text)
    rest, _, query = rest.partition("?")
    address, folder = _divided(rest)
    if "://" not in address and "@" in address:
        raise _wrong(f"is {_shown(text)!r}: it needs an ssh key, which Larder has not", code="ssh_location")
    try:
        remote = remotes.parse(address)
    except Invalid as problem:
        raise _wrong(f"is {_shown(text)!r}. {str(problem).rstrip('.')}") from None
    if remote.scheme == "ssh":
        raise _wrong(f"is {_shown(text)!r}: it needs an ssh key, which Larder has not", code="ssh_location")
    return Location(remote, _ref_of(query, text), folder)


def _without_getter(text: str) -> str:
    """Return what stands after git::, for which some hosts need nothing."""
    forced = _FORCED.fullmatch(text)
    if forced:
        if forced["getter"] != "git":
            raise _wrong(f"begins with {forced['getter'][:20]}::, expected git::https://", code="not_git")
        return forced["rest"]
    if text.startswith(_SHORT_HOSTS):
        return f"https://{text}"
    raise _wrong(f"is {_shown(text)!r}, an archive or a path, expected git::https://", code="not_git")


def _divided(text: str) -> tuple[str, str]:
    """Part the folder, which stands behind a second double slash."""
    scheme, found, rest = text.partition("://")
    if not found:
        scheme, rest = "", text
    path, _, folder = rest.partition("//")
    parts = [part for part in folder.split("/") if part not in ("", ".")]
    if ".." in parts or any(mark in folder for mark in "*?[\\%") or len(folder) > MAX_FOLDER_CHARACTERS:
        raise _wrong(f"has the folder {folder[:80]!r}, expected a plain path in the repository")
    return f"{scheme}{found}{path}", "/".join(parts)


def _ref_of(query: str, text: str) -> str:
    try:
        given = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=10)
    except ValueError:
        raise _wrong(f"is {_shown(text)!r}, whose query cannot be read") from None
    ref = ""
    for name, value in given:
        if name == "ref" and not ref:
            ref = value
        elif name != "depth" or not _DEPTH.fullmatch(value):
            raise _wrong(f"has {name[:20]!r}, expected ref once, and depth as a number")
    ref = ref.removeprefix("refs/tags/")
    if not ref:
        raise _wrong("names no ref, so its files may change at any time", code="not_pinned")
    return ref


def _shown(text: str) -> str:
    """Return it without what may be secret: a user, a password, a query."""
    return _USER.sub("//", text.partition("?")[0])[:120]


def _wrong(found: str, *, code: str = "bad_location") -> GitFailed:
    return GitFailed(code, f"The location that the registry gives {found}.", hint=HINT, is_final=True)
