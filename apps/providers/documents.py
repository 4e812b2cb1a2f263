"""Wire bodies of providers.v1 and of the network mirror.

https://opentofu.org/docs/internals/provider-registry-protocol/ and
https://opentofu.org/docs/internals/provider-network-mirror-protocol/
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

from apps.providers.models import Package, ProviderVersion
from apps.providers.reading import Key, ListedVersion, PublicKey, is_ending
from apps.releases.catalogue.reading import dates, moment_text
from apps.releases.models import Lifecycle
from apps.signing.models import State

# Clients print warnings at every init.
MAX_PLATFORMS_NAMED = 5
MAX_HELD_NAMED = 3

Document = dict[str, Any]


def sums_name(type: str, version: str) -> str:  # noqa: A002 - the field's word
    """The name that GoReleaser uses; the signature's has `.sig` appended."""
    return f"terraform-provider-{type}_{version}_SHA256SUMS"


def versions_document(
    versions: Sequence[ListedVersion], now: datetime, *, held: Sequence[ListedVersion] = ()
) -> Document:
    """Complete, no paging. Clients choose by `version` alone; `protocols` serves their hint if no version fits.

    Update bots wait until a version has an age, and look for a changelog at `source`, which is empty if no repository
    is known; tofu and terraform ignore both.
    """
    notice = versions[0].notice.strip() if versions else ""
    signed: dict[Key, list[str]] = defaultdict(list)
    for version in versions:
        signed[version.key].append(version.version)
    warnings = []
    for key, numbers in signed.items():
        by = f"key {key.key_id}, which signed {_named(numbers)},"
        if key.state == State.REVOKED:
            warnings.append(f"The {by} was revoked: clients reject all its signatures. {key.reason}".strip())
        elif key.expires_at is not None and is_ending(key, now):
            ends = "expires" if key.expires_at > now else "expired"
            warnings.append(f"The {by} {ends} on {key.expires_at:%Y-%m-%d}: ask the provider's owners for a new key.")
    return {
        "source": versions[0].source_url if versions else "",
        "versions": [
            {
                "version": version.version,
                **dates(version.published_at),
                "protocols": version.protocols,
                "platforms": [{"os": os, "arch": arch} for os, arch in version.platforms],
            }
            for version in versions
        ],
        # Clients print them after every init, and where no version matches, but not where the list is empty.
        "warnings": [*([notice] if notice else []), *warnings, *_cooling_down(held), *_deprecations(versions)],
    }


def details_document(version: ProviderVersion, *, versions: list[str], downloads: int) -> Document:
    """One version as the public registries describe it to browsers and update bots. `versions` are all listed ones."""
    provider, release = version.provider, version.release
    assert release.published_at is not None  # noqa: S101  # a constraint says so
    return {
        "id": f"{provider.address}/{release.version}",
        "owner": "",  # elsewhere a person's name; Larder does not publish who works on what
        "namespace": provider.namespace.name,
        "name": provider.type,
        "version": release.version,
        "tag": "",
        "description": provider.description,
        "source": provider.source_url,
        "published_at": moment_text(release.published_at),
        "downloads": downloads,
        "versions": versions,
    }


def _cooling_down(held: Sequence[ListedVersion]) -> list[str]:
    """Return warnings about the versions in a cool-down: users who pin one read only here why no version matches."""
    more = len(held) - MAX_HELD_NAMED
    return [
        *(
            f"version {version.version} is in its cool-down: clients can install it from "
            f"{version.visible_at:%Y-%m-%d %H:%M} UTC on"
            for version in held[:MAX_HELD_NAMED]
        ),
        *([f"{more} more are in their cool-down"] if more > 0 else []),
    ]


def _deprecations(versions: Iterable[ListedVersion]) -> list[str]:
    """One sentence for all versions deprecated with the same words."""
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for version in versions:
        if version.lifecycle == Lifecycle.DEPRECATED:
            grouped[version.lifecycle_reason, version.lifecycle_replacement].append(version.version)
    sentences = []
    for (reason, replacement), numbers in grouped.items():
        are = "is" if len(numbers) == 1 else "are"
        use = f" Use {replacement} instead." if replacement else ""
        sentences.append(f"{_named(numbers)} {are} deprecated: {reason}{use}")
    return sentences


def _named(numbers: Sequence[str]) -> str:
    """`version 1.0.0`, or `versions 1.1.0, 1.0.0` and the number of the rest."""
    more = len(numbers) - MAX_PLATFORMS_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return f"version{'s' if len(numbers) > 1 else ''} {', '.join(numbers[:MAX_PLATFORMS_NAMED])}{rest}"


def download_document(
    package: Package,
    *,
    keys: Iterable[PublicKey],
    url_of: Callable[[str, str], str],
    all_packages: Iterable[Package] = (),
) -> Document:
    """The data to fetch and verify one package. `url_of` takes digest and file name.

    `trust_signature` stays empty: terraform accepts only HashiCorp's.
    """
    version = package.version
    sums = sums_name(version.provider.type, version.release.version)
    document = {
        "protocols": version.protocols,
        "os": package.os,
        "arch": package.arch,
        "filename": package.filename,
        "download_url": url_of(package.digest, package.filename),
        "shasums_url": url_of(version.sums_digest, sums),
        "shasums_signature_url": url_of(version.signature_digest, f"{sums}.sig"),
        "shasum": package.digest,
        "signing_keys": {
            "gpg_public_keys": [
                {
                    "key_id": key.key_id,
                    "ascii_armor": key.armor,
                    "trust_signature": "",
                    "source": key.source,
                    "source_url": key.source_url,
                }
                for key in keys
            ]
        },
    }
    packages = {
        one.platform: {"hashes": [one.zh, one.h1], "package_size": one.size} for one in _by_platform(all_packages)
    }
    return document | ({"packages": packages} if packages else {})


class Zip(Protocol):
    """One platform's package, of our own or of another registry."""

    @property
    def os(self) -> str: ...

    @property
    def arch(self) -> str: ...

    @property
    def platform(self) -> str: ...

    @property
    def hashes(self) -> list[str]: ...


Z = TypeVar("Z", bound=Zip)


def mirror_index_document(numbers: Iterable[str]) -> Document:
    """Clients read the keys; the protocol reserves the values."""
    return {"versions": {number: {} for number in numbers}}


def mirror_version_document(packages: Iterable[Z], url_of: Callable[[Z], str]) -> Document:
    """The known hashes of every platform. Clients take a document without packages for "not here" (D8)."""
    return {"archives": {one.platform: {"url": url_of(one), "hashes": one.hashes} for one in _by_platform(packages)}}


def _by_platform(packages: Iterable[Z]) -> list[Z]:
    return sorted(packages, key=lambda one: (one.os, one.arch))
