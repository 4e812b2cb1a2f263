"""The document that a registry gives for one platform of a version: where the zip, its sums and signature are."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from apps.contrib.mirror.asking import registry_calls
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import UpstreamVersion
from apps.contrib.mirror.records import lists
from apps.lib.digests import is_sha256

MAX_BYTES = 4 * 1024 * 1024
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+~-]{0,254}")


@dataclass(frozen=True, slots=True)
class NamedKey:
    armor: str
    source: str


@dataclass(frozen=True, slots=True)
class Download:
    """`sizes` by platform, if the registry says them (unsigned: a claim)."""

    asked: str  # the URL of the document itself
    filename: str
    shasum: str
    url: str
    sums_url: str
    signature_url: str
    keys: tuple[NamedKey, ...]
    sizes: dict[str, int]


def fetch(version: UpstreamVersion, os: str, arch: str) -> Download:
    """Raises FetchFailed."""
    url = lists.url_of(version.provider, version.version, "download", os, arch)
    body = registry_calls.get_json(version.provider.upstream, url, max_bytes=MAX_BYTES).body
    return parse(body, url=url, os=os, arch=arch)


def parse(body: Any, *, url: str, os: str, arch: str) -> Download:
    """Raises FetchFailed for a document of another shape."""
    if not isinstance(body, dict):
        raise _wrong(url, "no object", "an object")
    if body.get("os", os) != os or body.get("arch", arch) != arch:
        raise _wrong(url, "another platform", f"os {os} and arch {arch}")
    filename, shasum = _text(body, "filename", url), _text(body, "shasum", url).lower()
    if not _FILE_NAME.fullmatch(filename):
        raise _wrong(url, f"`filename` {filename[:80]!r}", "a plain file name")
    if not is_sha256(shasum):
        raise _wrong(url, f"`shasum` {shasum[:80]!r}", "64 hex digits")
    keys = _keys(body.get("signing_keys"), url)
    return Download(
        asked=url,
        filename=filename,
        shasum=shasum,
        url=urljoin(url, _text(body, "download_url", url)),
        sums_url=urljoin(url, _text(body, "shasums_url", url)),
        # Clients need it only where keys are named.
        signature_url=urljoin(url, _text(body, "shasums_signature_url", url)) if keys else "",
        keys=keys,
        sizes=_sizes(body.get("packages")),
    )


def brought(origin: str, keys: Iterable[tuple[str, str]]) -> Download:
    """Return the document of what another Larder brought: it names the keys, and no file."""
    named = tuple(NamedKey(armor, source) for armor, source in keys)
    return Download(origin, "", "", origin, origin, origin, named, {})


def shown(url: str) -> str:
    """Without its query: in that of a signed link are secrets."""
    return url.partition("?")[0]


def _keys(said: Any, url: str) -> tuple[NamedKey, ...]:
    listed = said.get("gpg_public_keys") if isinstance(said, dict) else said
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise _wrong(url, "`gpg_public_keys` that is not a list", "a list of keys")
    found = []
    for one in listed:
        armor = one.get("ascii_armor") if isinstance(one, dict) else None
        if not isinstance(armor, str):
            raise _wrong(url, "a key without `ascii_armor`", "an object with `ascii_armor` for each key")
        source = one.get("source")
        found.append(NamedKey(armor, source if isinstance(source, str) else ""))
    return tuple(found)


def _sizes(said: Any) -> dict[str, int]:
    """Larder and registry.opentofu.org say them."""
    if not isinstance(said, dict):
        return {}
    found = {str(platform): one.get("package_size") for platform, one in said.items() if isinstance(one, dict)}
    return {
        platform: size
        for platform, size in found.items()
        if isinstance(size, int) and not isinstance(size, bool) and 0 < size < 2**40
    }


def _text(body: dict[str, Any], name: str, url: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise _wrong(url, f"no `{name}`", f"an object with the text `{name}`")
    return value


def _wrong(url: str, found: str, expected: str) -> FetchFailed:
    message = f"The document of the package has another shape: found {found}, expected {expected}"
    return FetchFailed("bad_shape", message, url=url, rule="shape", is_final=True)
