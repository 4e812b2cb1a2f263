"""The documents for clients about every provider, judged by the clients' own rules."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.utils import timezone

from apps.blobs import store
from apps.lib import versions
from apps.lib.digests import Tally
from apps.lib.errors import Invalid
from apps.providers import documents, reading
from apps.providers.models import Package, Provider, ProviderVersion
from apps.signing import packets, verifying
from apps.signing.models import SigningKey

# The client splits at white space and crashes on an empty line, and on a hash of another length.
SUMS = re.compile(r"(?:[0-9a-f]{64}  [!-~]+\n)+")
PLATFORM = re.compile(r"[a-z0-9]+_[a-z0-9]+")
SPOKEN = re.compile(r"[56]\.\d+")


def everything(now: datetime | None = None) -> dict[str, Any]:
    """Every document and every artefact of every provider, without the links' signatures."""
    now = now or timezone.now()
    found: dict[str, Any] = {}
    for provider in Provider.objects.alphabetical():
        found[f"{provider} versions"] = documents.versions_document(_listed(provider), now)
        for version in _rows(provider).published().newest_first():
            found |= _of_version(version, now)
    return found


def problems() -> list[str]:
    """In words, each thing that a client would stumble over."""
    now = timezone.now()
    found = problems_of_lists()
    for version in ProviderVersion.objects.published().select_related("key", "release__namespace", "provider"):
        found += [f"{version}: {text}" for text in (*_of_sums(version), *_of_signature(version, now))]
    return found


def problems_of_lists() -> list[str]:
    """The same of version lists alone, for providers whose signatures are none."""
    found = []
    for provider in Provider.objects.alphabetical():
        document = documents.versions_document(_listed(provider), timezone.now())
        found += [f"{provider}: {text}" for text in _of_list(document)]
    return found


def _listed(provider: Provider) -> list[reading.ListedVersion]:
    return reading.listed(ProviderVersion.objects.filter(provider=provider))


def _rows(provider: Provider) -> Any:
    rows = ProviderVersion.objects.filter(provider=provider).select_related("key", "release__namespace", "provider")
    return rows.prefetch_related("packages")


def _of_version(version: ProviderVersion, now: datetime) -> dict[str, Any]:
    found: dict[str, Any] = {
        f"{version} {digest}": b"".join(store.read(digest))
        for digest in (version.sums_digest, version.signature_digest)
    }
    for package in version.packages.all():
        served = _served(version, package, now)
        document = documents.download_document(
            package, keys=served.keys, url_of=lambda digest, name: f"{digest}/{name}"
        )
        found[f"{version} {package}"] = document
    return found


def _served(version: ProviderVersion, package: Package, now: datetime) -> reading.Download:
    namespace, platform = version.provider.namespace, (package.os, package.arch)
    return reading.download_in(
        namespace, version.provider.address, version.release.version, platform, with_all=True, now=now
    )


def _of_list(document: dict[str, Any]) -> Iterator[str]:
    for entry in document["versions"]:
        try:
            is_strict = versions.parse(entry["version"]).text == entry["version"]
        except Invalid:
            is_strict = False
        if not is_strict:
            yield f"the version {entry['version']!r} is no strict SemVer"
        if not entry["protocols"] or not all(SPOKEN.fullmatch(one) for one in entry["protocols"]):
            yield f"the protocols {entry['protocols']!r}"
        if not all(PLATFORM.fullmatch("{os}_{arch}".format(**one)) for one in entry["platforms"]):
            yield f"the platforms {entry['platforms']!r}"
    for warning in document["warnings"]:
        if not isinstance(warning, str) or not warning.isprintable() or not warning.strip():
            yield f"the warning {warning!r}"


def _of_sums(version: ProviderVersion) -> Iterator[str]:
    data = b"".join(store.read(version.sums_digest))
    text = data.decode(errors="replace")
    if not SUMS.fullmatch(text):
        yield f"SHA256SUMS {text!r}"
        return
    lines = [line.split("  ") for line in text.splitlines()]
    listed = {name: digest for digest, name in lines}
    if len(listed) != len(lines):
        yield "a name stands twice in SHA256SUMS"
    packages = list(version.packages.all())
    if not packages:
        yield "no package"
    for package in packages:
        tally = Tally()
        for chunk in store.read(package.digest):
            tally.update(chunk)
        if not listed.get(package.filename) == package.digest == tally.hexdigest:
            yield f"{package} is other than its line"


def _of_signature(version: ProviderVersion, now: datetime) -> Iterator[str]:
    data, signature = (b"".join(store.read(one)) for one in (version.sums_digest, version.signature_digest))
    served = _served(version, packages[0], now).keys if (packages := list(version.packages.all())) else []
    rows = {key.armor: key for key in SigningKey.objects.filter(namespace=version.provider.namespace)}
    keys = [rows[key.armor] for key in served]
    for key in keys:
        if key.armor.count("-----BEGIN") != 1:
            yield f"the key {key} is not one armour block"
        elif next(packets.packets(packets.dearmored(key.armor))).version != 4:
            yield f"the key {key} is not of version 4"
    if version.key in keys:  # a revoked one is left out, so that clients refuse what it signed
        try:
            verifying.verify(data=data, signature=signature, keys=keys, was_accepted=True)
        except verifying.BadSignature as bad:
            yield f"the signature: {bad}"
