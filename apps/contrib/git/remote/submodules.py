"""The addresses of submodules, by .gitmodules (gitmodules(5)), and the credential for each."""

import re
from dataclasses import replace

from apps.contrib.git.remote.access import Access, GitFailed
from apps.contrib.git.remote.remotes import Remote, parse
from apps.contrib.git.remote.stores import Store
from apps.lib.errors import Invalid
from apps.lib.net.fetching import origin_of

_KEY = re.compile(r"submodule\.(?P<name>.*)\.(?P<what>path|url)", re.DOTALL)
_MAX_BYTES = 256 * 1024


def urls_of(store: Store, text: bytes) -> dict[str, str]:
    """Read .gitmodules with git. Return URLs by paths. Raises GitFailed."""
    if not text:
        return {}
    # git reads it as a file here, and follows no include in one.
    file = store.folder / f"{store.name}.gitmodules"
    file.write_bytes(text)
    listed = store.run(["config", "--no-includes", "--file", str(file), "-z", "--list"], max_bytes=_MAX_BYTES)
    found: dict[str, dict[str, str]] = {}
    for line in listed.decode("utf-8", "surrogateescape").split("\0"):
        key, _, value = line.partition("\n")
        if match := _KEY.fullmatch(key):
            found.setdefault(match["name"], {})[match["what"]] = value
    return {one["path"]: one["url"] for one in found.values() if "path" in one and "url" in one}


def resolved(parent: Remote, url: str, path: str) -> Remote:
    """Return the repository of a submodule; `./` and `../` begin at its parent's. Raises GitFailed."""
    text = url
    if url.startswith(("./", "../")):
        parts = parent.path.strip("/").split("/")
        left = url
        while left.startswith(("./", "../")):
            if left.startswith("../"):
                parts = parts[:-1]
            left = left.partition("/")[2]
        text = replace(parent, path="/" + "/".join([*parts, left])).url
    try:
        return parse(text)
    except Invalid as error:
        raise GitFailed(
            "submodule_refused",
            f"The submodule {path!r} has a URL that is not allowed: {error}",
            hint="Use an https or ssh URL in .gitmodules.",
            is_final=True,
        ) from None


def access_to(remote: Remote, root: Remote, access: Access) -> Access:
    """Keep the credential and host keys for the origin of the repository itself."""
    if origin_of(remote.parts) == origin_of(root.parts):
        return access
    return replace(access, authorization="", private_key="", host_keys=())
