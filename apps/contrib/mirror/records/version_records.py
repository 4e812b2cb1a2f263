"""The record of a version: sums, signature, key, verdict and packages. All of it is written at once, or nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import structlog
from django.db import transaction
from django.utils import timezone

from apps.audit import generation
from apps.contrib.mirror.asking import registry_calls
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import UpstreamPackage, UpstreamVersion, Verdict
from apps.contrib.mirror.records import documents, lists, manifests, platforms, signature_checks
from apps.contrib.mirror.records.documents import Download, shown
from apps.contrib.mirror.records.failures import MISSING, Distrusted
from apps.contrib.mirror.records.signature_checks import Outcome
from apps.lib.formats import sums
from apps.lib.mirrored import MirroredProof
from apps.signing import foreign

FIRST = ["linux", "amd64"]  # most versions have it
TRIES = 3  # a registry may list a platform of which it has no document

log = structlog.get_logger("larder.upstream")


@dataclass(frozen=True, slots=True)
class _Reading:
    """The current answer of a registry about a version. `listed`: the lines of the sums."""

    download: Download
    sums: bytes
    signature: bytes
    listed: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Proof:
    """The proof that was verified before anything is written. Without a signer the registry names no key."""

    reading: _Reading
    signer: foreign.Signer | None


def fetch(version: UpstreamVersion, guard: Callable[[], None]) -> None:
    """Raises FetchFailed, and nothing is stored then but its alarm."""
    if version.verdict:
        return
    proof = _proven(version, _platforms_to_ask(version))
    _settle(version, proof, list(_packages(version, proof)), guard)


def take(version: UpstreamVersion, carried: MirroredProof, *, origin: str) -> None:
    """Write the record that another Larder brought, or the packages that are new in it, by the trust of `fetch`.

    Raises FetchFailed.
    """
    download = documents.brought(origin, carried.keys)
    reading = _Reading(download, carried.sums, carried.signature, sums.read_as_clients_do(carried.sums))
    known = {one.filename: one.digest for one in version.packages.all()}
    for name, digest in known.items():
        if (found := reading.listed.get(name, digest)) != digest:
            other = signature_checks.OtherBytes(digest, found, is_signed=True, url=origin)
            raise signature_checks.other_bytes(version, name, other)
    packages = [
        UpstreamPackage(version=version, os=os, arch=arch, filename=name, digest=reading.listed[name])
        for name, (os, arch) in carried.platforms.items()
        if name in reading.listed and name not in known
    ]
    if version.verdict and not packages:
        return
    try:
        proof = _checked(version, reading)
    except foreign.NotSigned as problem:
        raise _badly_signed(version, problem, origin) from None
    _settle(version, proof, packages, lambda: None)


def look_again(version: UpstreamVersion, guard: Callable[[], None]) -> None:
    """Compare a verified version with what the registry says of it now.

    Lines of further platforms are added if a trusted key has signed them. Other lines for what is known raise an alarm,
    and change nothing. Raises FetchFailed.
    """
    rows = sorted(version.packages.order_by("os", "arch"), key=lambda one: one.blob_id is None)  # stored ones first
    known = {package.filename: package for package in rows}
    there = {(package.os, package.arch) for package in known.values()}
    listed_ones = _platforms_to_ask(version)
    lacking = [platform for platform in listed_ones if tuple(platform) not in there]
    stored = [[package.os, package.arch] for package in rows if package.blob_id is not None]
    ask = lacking or stored or listed_ones
    for is_last in (False, True):
        reading = _read(version, ask, with_signature=False)
        listed = {**reading.listed, reading.download.filename: reading.download.shasum}
        other = next((name for name in known if listed.get(name, known[name].digest) != known[name].digest), None)
        if other is None:
            break
        if is_last:
            found = signature_checks.OtherBytes(
                known[other].digest, listed[other], is_signed=True, url=reading.download.asked
            )
            raise signature_checks.other_bytes(version, other, found)
    if reading.sums == bytes(version.sums):
        return
    proof = _proven(version, ask)
    packages = [
        one for one in _packages(version, proof) if one.filename not in known and (one.os, one.arch) not in there
    ]
    if packages:
        _settle(version, proof, packages, guard)


def _settle(
    version: UpstreamVersion, proof: _Proof, packages: list[UpstreamPackage], guard: Callable[[], None]
) -> None:
    """Write the record, or the packages that it lacks. Raises FetchFailed, and only its alarm is stored then."""
    with transaction.atomic():
        guard()
        signature_checks.lock(version.provider.upstream)
        outcome = _outcome_of(version, proof)
        if outcome.refusal is None:
            (_extend if version.verdict else _write)(version, proof, outcome, packages)
    if outcome.refusal is not None:
        raise outcome.refusal


def _platforms_to_ask(version: UpstreamVersion) -> list[list[str]]:
    return sorted(version.platforms, key=lambda one: (list(one) != FIRST, list(one)))


def _proven(version: UpstreamVersion, candidates: list[list[str]]) -> _Proof:
    """Read sums and signature, and check both. Raises FetchFailed, with an alarm for what does not fit.

    That is read twice before: what a cache or a broken connection did accuses no registry.
    """
    for is_last in (False, True):
        reading = _read(version, candidates)
        try:
            _check_line(version, reading)
            return _checked(version, reading)
        except Distrusted:
            if is_last:
                raise
        except foreign.NotSigned as problem:
            if is_last:
                raise _badly_signed(version, problem, shown(reading.download.signature_url)) from None
    raise AssertionError("the last look raises or returns")


def _badly_signed(version: UpstreamVersion, problem: foreign.NotSigned, url: str) -> Distrusted:
    return signature_checks.badly_signed(
        version, str(problem), issuer=problem.issuer, is_foreign=problem.is_foreign, url=url
    )


def _read(version: UpstreamVersion, candidates: list[list[str]], *, with_signature: bool = True) -> _Reading:
    """Raises FetchFailed. Sums and signature are asked for at the same time."""
    download = _any_document(version, candidates)
    sizes = {download.sums_url: sums.MAX_BYTES}
    if with_signature and download.keys:  # else there is no signature that anybody checks
        sizes[download.signature_url] = foreign.MAX_SIGNATURE_BYTES
    said, *signatures = registry_calls.get_all_bytes(version.provider.upstream, sizes)
    return _Reading(download, said, signatures[0] if signatures else b"", sums.read_as_clients_do(said))


def _any_document(version: UpstreamVersion, candidates: list[list[str]]) -> Download:
    missing: FetchFailed | None = None
    for os, arch in candidates[:TRIES]:
        try:
            return documents.fetch(version, os, arch)
        except FetchFailed as failure:
            if failure.status not in MISSING:
                raise
            missing = failure
    if missing is not None:
        raise missing
    url = lists.url_of(version.provider, "versions")
    raise FetchFailed(
        "no_platform", f"The registry lists no platform of {version}", url=url, rule="shape", is_final=True
    )


def _check_line(version: UpstreamVersion, reading: _Reading) -> None:
    """The line of the package must be there, and say what the document says."""
    download = reading.download
    line = reading.listed.get(download.filename)
    if line is None:
        raise Distrusted(
            "sums_line",
            f"SHA256SUMS of {version} has no line for {download.filename}",
            url=shown(download.sums_url),
            rule="sums_line",
        )
    if line != download.shasum:
        raise Distrusted(
            "sums_line",
            f"The registry contradicts itself about {download.filename} of {version}: found sha256:{download.shasum} "
            f"in its document, expected sha256:{line} as in SHA256SUMS",
            url=download.asked,
            rule="sums_line",
        )


def _checked(version: UpstreamVersion, reading: _Reading) -> _Proof:
    """Check the signature by the keys that the registry names. Raises foreign.NotSigned."""
    keys = reading.download.keys
    if not keys:
        return _Proof(reading, None)
    signer = foreign.verify(data=reading.sums, signature=reading.signature, armors=[key.armor for key in keys])
    if signer.note:
        log.warning("upstream_signature", version=str(version), key=signer.fingerprint, note=signer.note)
    return _Proof(reading, signer)


def _packages(version: UpstreamVersion, proof: _Proof) -> Iterator[UpstreamPackage]:
    """Yield a row for each listed platform that has a line in the sums; clients install no other."""
    listed, seen = proof.reading.listed, set()
    for os, arch in version.platforms:
        download = _document_of(version, proof.reading.download, listed, os, arch)
        if download is None or download[0] in seen:
            log.warning("upstream_platform_without_line", version=str(version), platform=f"{os}_{arch}")
            continue
        filename, size = download
        seen.add(filename)
        yield UpstreamPackage(version=version, os=os, arch=arch, filename=filename, digest=listed[filename], size=size)


def _document_of(
    version: UpstreamVersion, first: Download, listed: dict[str, str], os: str, arch: str
) -> tuple[str, int | None] | None:
    """Return the file name of a platform and its size as claimed. Asks the registry only if the name cannot be told."""
    size = first.sizes.get(f"{os}_{arch}")
    if name := platforms.name_of(first.filename, version.platforms, os, arch, listed):
        return name, size
    try:
        download = documents.fetch(version, os, arch)
    except FetchFailed as failure:
        if failure.status in MISSING:
            return None
        raise
    return (download.filename, size) if listed.get(download.filename) == download.shasum else None


def _outcome_of(version: UpstreamVersion, proof: _Proof) -> Outcome:
    url = proof.reading.download.asked
    if proof.signer is None:
        outcome = signature_checks.unsigned(version, url=url)
    elif (
        proof.signer.weakness
        and (refusal := signature_checks.weakly_signed(version, proof.signer, url=url)) is not None
    ):
        outcome = Outcome(refusal=refusal)
    else:
        outcome = signature_checks.signed(version, proof.signer, proof.reading.download.keys, url=url)
    if (
        outcome.refusal is None
        and (other := signature_checks.unaccepted(version, proof.reading.listed, url=url)) is not None
    ):
        return Outcome(refusal=other)
    return outcome


def _write(version: UpstreamVersion, proof: _Proof, outcome: Outcome, packages: list[UpstreamPackage]) -> None:
    now = timezone.now()
    digest = manifests.set_digests(version, packages)
    won = UpstreamVersion.objects.filter(pk=version.pk, verdict=Verdict.NONE).update(
        verdict=outcome.verdict,
        verified_at=now,
        sums=proof.reading.sums,
        signature=proof.reading.signature,
        key=outcome.key,
        index_digest=digest,
    )
    if not won:
        return  # another worker was first, and verified the same
    UpstreamPackage.objects.bulk_create(packages)
    generation.touch([lists.scope_of(version.provider)])


def _extend(version: UpstreamVersion, proof: _Proof, outcome: Outcome, packages: list[UpstreamPackage]) -> None:
    """Add packages whose lines the registry has signed since, in the caller's transaction. The verdict stays."""
    known = list(version.packages.order_by("os", "arch"))
    won = UpstreamVersion.objects.filter(pk=version.pk, verified_at=version.verified_at).update(
        sums=proof.reading.sums,
        signature=proof.reading.signature,
        key=outcome.key,
        index_digest=manifests.set_digests(version, [*known, *packages]),
    )
    if not won:
        return  # staff have replaced the record meanwhile
    UpstreamPackage.objects.bulk_create(packages)
    generation.touch([lists.scope_of(version.provider)])
    log.info("upstream_platforms_added", version=str(version), platforms=[one.platform for one in packages])
