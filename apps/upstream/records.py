"""The record of a version: sums, signature, key, verdict and packages. All of it is written at once, or nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import structlog
from django.db import transaction
from django.utils import timezone

from apps.audit import generation
from apps.lib.formats import sums
from apps.signing import foreign
from apps.upstream import documents, exchanges, judging, lists, manifests, platforms
from apps.upstream.documents import Download, shown
from apps.upstream.errors import FetchFailed
from apps.upstream.failures import MISSING, Distrusted
from apps.upstream.judging import Judgement
from apps.upstream.models import UpstreamPackage, UpstreamVersion, Verdict

FIRST = ["linux", "amd64"]  # most versions have it
TRIES = 3  # a registry may list a platform of which it has no document

log = structlog.get_logger("larder.upstream")


@dataclass(frozen=True, slots=True)
class _Proof:
    """What was read and verified before anything is written. Without a signer the registry names no key."""

    download: Download
    sums: bytes
    signature: bytes
    signer: foreign.Signer | None
    source: str


def fetch(version: UpstreamVersion, guard: Callable[[], None]) -> None:
    """Raises FetchFailed, and nothing is stored then but its alarm."""
    if version.verdict:
        return
    download = _any_document(version)
    said = exchanges.get_bytes(version.provider.upstream, download.sums_url, max_bytes=sums.MAX_BYTES)
    listed = sums.read_as_clients_do(said)
    _check_line(version, download, listed)
    proof = _proven(version, download, said)
    packages = list(_packages(version, download, listed))
    with transaction.atomic():
        guard()
        judging.lock(version.provider.upstream)
        judgement = _judge(version, proof, listed)
        if judgement.refusal is None:
            _write(version, proof, judgement, packages)
    if judgement.refusal is not None:
        raise judgement.refusal


def _any_document(version: UpstreamVersion) -> Download:
    candidates = sorted(version.platforms, key=lambda one: (list(one) != FIRST, list(one)))
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


def _check_line(version: UpstreamVersion, download: Download, listed: dict[str, str]) -> None:
    """The line of the package must be there, and say what the document says."""
    line = listed.get(download.filename)
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


def _proven(version: UpstreamVersion, download: Download, said: bytes) -> _Proof:
    """Check the signature by the keys that the registry names. Raises FetchFailed."""
    if not download.keys:
        return _Proof(download, said, b"", None, "")
    signature = exchanges.get_bytes(
        version.provider.upstream, download.signature_url, max_bytes=foreign.MAX_SIGNATURE_BYTES
    )
    try:
        signer = foreign.verify(data=said, signature=signature, armors=[key.armor for key in download.keys])
    except foreign.NotSigned as problem:
        raise judging.badly_signed(
            version,
            str(problem),
            issuer=problem.issuer,
            is_foreign=problem.is_foreign,
            url=shown(download.signature_url),
        ) from None
    if signer.note:
        log.warning("upstream_signature", version=str(version), key=signer.fingerprint, note=signer.note)
    source = next((key.source for key in download.keys if key.armor == signer.armor), "")
    return _Proof(download, said, signature, signer, source)


def _packages(version: UpstreamVersion, first: Download, listed: dict[str, str]) -> Iterator[UpstreamPackage]:
    """Yield a row for each listed platform that has a line in the sums; clients install no other."""
    seen = set()
    for os, arch in version.platforms:
        download = _document_of(version, first, listed, os, arch)
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


def _judge(version: UpstreamVersion, proof: _Proof, listed: dict[str, str]) -> Judgement:
    url = proof.download.asked
    if proof.signer is None:
        judgement = judging.unsigned(version, url=url)
    else:
        judgement = judging.signed(version, proof.signer, source=proof.source, url=url)
    if judgement.refusal is None and (other := judging.unaccepted(version, listed, url=url)) is not None:
        return Judgement(refusal=other)
    return judgement


def _write(version: UpstreamVersion, proof: _Proof, judgement: Judgement, packages: list[UpstreamPackage]) -> None:
    now = timezone.now()
    digest = manifests.set_digests(version, packages)
    won = UpstreamVersion.objects.filter(pk=version.pk, verdict=Verdict.NONE).update(
        verdict=judgement.verdict,
        verified_at=now,
        sums=proof.sums,
        signature=proof.signature,
        key=judgement.key,
        index_digest=digest,
    )
    if not won:
        return  # another worker was first, and verified the same
    UpstreamPackage.objects.bulk_create(packages)
    generation.touch([lists.scope_of(version.provider)])
