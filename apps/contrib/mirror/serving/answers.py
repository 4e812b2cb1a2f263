"""The answers to the mirror edges: `http.mirrors.OtherRegistries` by the rows of this room.

First the gate, then what is known or has to be fetched, then policy. What clients may not install is refused before
anything is fetched for it, and again when its record is there (`signed only` needs the verdict).
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.core.cache import cache
from django.db.models import Q
from django.utils import timezone

from apps.accounts.access import throttling
from apps.accounts.access.asking import Asker
from apps.accounts.access.gate import Viewer
from apps.accounts.models import User, Visibility
from apps.blobs import capabilities
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.models import Upstream, UpstreamPackage, UpstreamProvider, UpstreamVersion, Verdict
from apps.contrib.mirror.policy import evaluation, held_back
from apps.contrib.mirror.policy.evaluation import Decision
from apps.contrib.mirror.records import carrying, manifests, storage
from apps.contrib.mirror.serving import compiled_queries, copies, on_demand, open_links, usage_counts
from apps.contrib.mirror.serving.fetch_jobs import LIST, PACKAGE, SIZES, VERSION
from apps.jobs import database_availability
from apps.jobs.models import WORKING, Job
from apps.lib import versions
from apps.lib.errors import Invalid, NotFound, UnknownOrPrivate
from apps.lib.formats.oci_manifests import EMPTY_DIGEST, IMAGE_INDEX, IMAGE_MANIFEST, digest_of
from apps.lib.mirrored import (
    HostedProvider,
    MirroredCopy,
    MirroredDocument,
    MirroredPackage,
    MirroredProof,
    MirroredVersion,
    MirroredVersions,
    OpenLink,
    OtherClientsOnly,
    PackageLink,
    VersionUnknown,
)

# Terraform has always said so; OpenTofu says OpenTofu.
TERRAFORM = "Terraform/"
ASKER_SECONDS = 600
# Of an index by its digest, where a rule hides platforms and each version's index has to be made anew.
MOST_INDEXES = 200
_WITHOUT_TEXTS = ("version__sums", "version__signature")


class Mirrors:
    """Every method resolves what was asked for, and then answers from that alone."""

    def require_visible(self, asker: Asker, host: str) -> None:
        _visible(asker, host)

    def versions(self, asker: Asker, provider: HostedProvider) -> MirroredVersions:
        upstream, now = _visible(asker, provider.host), timezone.now()
        row = _listed(asker, upstream, provider)
        found = evaluation.decisions(row, now=now)
        held_back.note(asker, found)
        shown = [version for version, decision in found.items() if decision.is_visible]
        if upstream.is_sealed:  # it fetches nothing: what is not stored cannot be installed
            stored = UpstreamPackage.objects.filter(version__provider=row).exclude(blob=None)
            there = set(stored.values_list("version", flat=True))
            shown = [version for version in shown if version.pk in there]
        seconds = min(_seconds(upstream, found.values(), now), _list_seconds(row, now))
        return MirroredVersions([version.version for version in shown], seconds)

    def version(self, asker: Asker, provider: HostedProvider, number: str) -> MirroredVersion:
        upstream, now = _visible(asker, provider.host), timezone.now()
        version = _verified(asker, upstream, provider, number, now)
        packages = list(version.packages.order_by("os", "arch"))
        if upstream.is_sealed:
            packages = [package for package in packages if package.blob_id is not None]
        shown, found = _shown(version, packages, now)
        public = upstream.visibility == Visibility.PUBLIC
        if any(package.blob_id is None for package in shown):
            _note_asker(asker, version)
        listed = [open_links.mirrored(package, is_public=public) for package in shown]
        return MirroredVersion(version.version, listed, _seconds(upstream, found, now))

    def stored(
        self, asker: Asker, provider: HostedProvider, number: str, filename: str, *, capability: str = ""
    ) -> MirroredPackage:
        sort_key, now = _sort_key(number), timezone.now()
        if not capability:
            _visible(asker, provider.host)  # first: what is hidden takes as long as what is not there
        package = compiled_queries.package(provider, sort_key, filename)
        if package is None:
            version = _verified(asker, _visible(asker, provider.host), provider, number, now)
            package = compiled_queries.package(provider, sort_key, filename)
            if package is None:
                raise VersionUnknown(f"{version} has no package {filename[:100]!r}.")
        else:
            upstream = package.version.provider.upstream
            is_open = bool(capability) and capabilities.verify(
                capability, digest=package.digest, file_name=filename, now=now
            )
            _require_visible(asker, upstream, provider.host, is_open=is_open)
        return self._with_bytes(asker, package, now)

    def fetchable(self, links: Collection[PackageLink]) -> Mapping[PackageLink, OpenLink]:
        return open_links.fetchable(links, now=timezone.now())

    def index(self, asker: Asker, provider: HostedProvider, number: str) -> MirroredDocument:
        upstream, now = _visible(asker, provider.host), timezone.now()
        version = _verified(asker, upstream, provider, number, now)
        packages = _indexable(version)
        if packages is None:
            _count(asker, SIZES, version.pk)
            packages = on_demand.package_sizes(version, by=asker.viewer.user_id, until=asker.until, since=asker.since)
        shown, found = _shown(version, packages, now)
        return _index_of(version, shown, _seconds(upstream, found, now))

    def document(self, asker: Asker, provider: HostedProvider, digest: str) -> MirroredDocument:
        upstream, now = _visible(asker, provider.host), timezone.now()
        package = _packages_of(provider).filter(manifest_digest=digest).order_by("pk").first()
        if package is not None:
            version = package.version
            _, found = _shown(version, [package], now)
            raw = manifests.package_manifest(package, version)
            if digest_of(raw) == digest:
                return MirroredDocument(raw, digest, IMAGE_MANIFEST, _seconds(upstream, found, now))
        for version in _indexed(upstream, provider, digest):
            shown, found = _shown(version, _indexable(version) or [], now)
            made = _index_of(version, shown, _seconds(upstream, found, now))
            if made.digest == digest:
                return made
        _listed(asker, upstream, provider)  # NotFound where there is no such provider
        raise VersionUnknown(f"{provider} has no manifest {digest}.")

    def stored_by_digest(self, asker: Asker, provider: HostedProvider, digest: str) -> MirroredPackage | None:
        upstream, now = _visible(asker, provider.host), timezone.now()
        package = compiled_queries.package_with_digest(provider, digest.removeprefix("sha256:"))
        if package is not None:
            return self._with_bytes(asker, package, now)
        _listed(asker, upstream, provider)
        if digest == EMPTY_DIGEST:
            return None
        raise VersionUnknown(f"{provider} has no package {digest}.")

    def record_use(self, provider: HostedProvider, package: MirroredPackage) -> None:
        usage_counts.record(provider.host, package.digest, package.filename)

    def copied_providers(self) -> Iterator[HostedProvider]:
        return copies.providers()

    def copied(self, provider: HostedProvider) -> MirroredCopy | None:
        return copies.copied(provider, now=timezone.now())

    def proof(self, provider: HostedProvider, number: str) -> MirroredProof:
        return carrying.proof(provider, number)

    def take(self, provider: HostedProvider, number: str, files: Mapping[str, str], **told: Any) -> bool:
        return carrying.take(provider, number, files, **told)

    def _with_bytes(self, asker: Asker, package: UpstreamPackage, now: datetime) -> MirroredPackage:
        upstream = package.version.provider.upstream
        evaluation.require_visible(package.version, now=now, platform=package.platform)
        storage.refuse_quarantined(package)
        package = storage.without_lost_bytes(package)
        if package.blob_id is None:
            _count(asker, PACKAGE, package.pk)
            by = _asker_of(asker, package.version)
            package = on_demand.package_with_bytes(package, by=by, until=asker.until, since=asker.since)
        return open_links.mirrored(package, is_public=upstream.visibility == Visibility.PUBLIC)


# --- The gate -----------------------------------------------------------------------------------------------------


def _visible(asker: Asker, host: str) -> Upstream:
    found = compiled_queries.enabled(host)
    if found is None:
        raise _hidden(asker.viewer, host)
    _require_visible(asker, found, host)
    return found


def _require_visible(asker: Asker, upstream: Upstream, host: str, *, is_open: bool = False) -> None:
    """`is_open`: a link opens it, unless it is switched off."""
    if not upstream.is_enabled or not (is_open or upstreams.sees(asker.viewer, upstream)):
        raise _hidden(asker.viewer, host)
    if upstream.terraform_only and not asker.user_agent.startswith(TERRAFORM):
        raise OtherClientsOnly(
            f"This mirror serves the providers of {upstream} to Terraform alone, because of that registry's terms.",
            hint="Use Terraform, or providers of another registry.",
        )


def _hidden(viewer: Viewer, host: str) -> UnknownOrPrivate | NotFound:
    if not viewer.is_identified:
        return UnknownOrPrivate()
    return NotFound(f"This mirror has no providers of {host[:80]!r} that you can see.")


# --- What is known, or has to be fetched --------------------------------------------------------------------------


def _known(upstream: Upstream, provider: HostedProvider) -> UpstreamProvider | None:
    rows = UpstreamProvider.objects.known().select_related("upstream")
    return rows.filter(upstream=upstream, namespace=provider.namespace, type=provider.type).first()


def _listed(asker: Asker, upstream: Upstream, provider: HostedProvider) -> UpstreamProvider:
    """Return the provider with its list, fresh or stale."""
    if not upstream.is_sealed and _known(upstream, provider) is None:
        _count(asker, LIST, None)
    return on_demand.provider_with_list(
        upstream,
        provider.namespace,
        provider.type,
        by=asker.viewer.user_id,
        until=asker.until,
        since=asker.since,
    )


def _verified(
    asker: Asker, upstream: Upstream, provider: HostedProvider, number: str, now: datetime
) -> UpstreamVersion:
    """Return a version with its record, of which policy shows at least one platform."""
    sort_key = _sort_key(number)
    known = _known(upstream, provider)
    version = None if known is None else compiled_queries.version(known, sort_key)
    if known is None or version is None:  # perhaps it is new
        version = compiled_queries.version(_listed(asker, upstream, provider), sort_key)
    else:
        on_demand.refresh_list(known, by=asker.viewer.user_id)
    if version is None or not (version.is_listed or version.verdict):
        raise VersionUnknown(f"{provider} has no version {number[:80]!r}.")
    found = evaluation.decide(version, now=now)
    if version.is_gone and not found.is_visible:
        raise VersionUnknown(found.sentence)
    held_back.note(asker, {version: found})
    evaluation.require(found)
    if version.verdict:
        return version
    _count(asker, VERSION, version.pk)
    version = on_demand.version_with_record(version, by=asker.viewer.user_id, until=asker.until, since=asker.since)
    evaluation.require_visible(version, now=now)
    return version


def _sort_key(number: str) -> bytes:
    """By value, as everywhere: text after a plus sign does not count (D10)."""
    try:
        return versions.parse(number).sort_key
    except Invalid:
        raise VersionUnknown(f"{number[:80]!r} is not a version.") from None


def _packages_of(provider: HostedProvider) -> Any:
    rows = UpstreamPackage.objects.select_related("version__provider__upstream", "blob").defer(*_WITHOUT_TEXTS)
    return rows.filter(
        version__provider__upstream__host=provider.host,
        version__provider__namespace=provider.namespace,
        version__provider__type=provider.type,
    )


def _indexed(upstream: Upstream, provider: HostedProvider, digest: str) -> Collection[UpstreamVersion]:
    """Return the versions that may have this index: the one, or many where it is made of some packages alone."""
    row = _known(upstream, provider)
    if row is None:
        return ()
    rows = row.versions.select_related("provider__upstream").defer("sums", "signature").exclude(verdict=Verdict.NONE)
    found = rows.filter(index_digest=digest).first()
    if found is not None:
        return (found,)
    partial = Q() if upstream.is_sealed else Q(is_listed=False)
    if evaluation.Policy.of(upstream).for_address(row.address).has_platform_rules:
        partial |= ~Q(index_digest="")
    return rows.filter(partial).order_by("-verified_at")[:MOST_INDEXES]


def _indexable(version: UpstreamVersion) -> list[UpstreamPackage] | None:
    """Return the packages for its index, None if their sizes have to be asked for.

    What is sealed or no longer listed has the stored ones then: no registry can be asked.
    """
    packages = list(version.packages.order_by("os", "arch"))
    if all(package.size is not None for package in packages):
        return packages
    if version.provider.upstream.is_sealed or not version.is_listed:
        return [package for package in packages if package.blob_id is not None]
    return None


def _note_asker(asker: Asker, version: UpstreamVersion) -> None:
    """Clients send their token for the document of a version, and none for the package that they fetch next."""
    if asker.viewer.user_id is not None and asker.client:
        with suppress(*database_availability.AWAY):
            cache.set(_asker_key(asker, version), asker.viewer.user_id, ASKER_SECONDS)


def _asker_of(asker: Asker, version: UpstreamVersion) -> int | None:
    """Return who fetches a package: who asked for its version's document from the same address a moment ago."""
    if asker.viewer.user_id is not None or not asker.client:
        return asker.viewer.user_id
    with suppress(*database_availability.AWAY):
        found = cache.get(_asker_key(asker, version))
        return found if found is not None and User.objects.filter(pk=found).exists() else None
    return None


def _asker_key(asker: Asker, version: UpstreamVersion) -> str:
    return f"larder-mirror-asker-{version.pk}-{hashlib.sha256(asker.client.encode()).hexdigest()}"


def _count(asker: Asker, kind: str, target: int | None) -> None:
    """Count against the limit of fetches, once for a request, and not what another request is having fetched."""
    if asker.has_waited:
        return

    def is_on_its_way() -> bool:
        return target is not None and Job.objects.filter(kind=kind, target=target, state__in=WORKING).exists()

    limit = throttling.by_account("fetch", asker.viewer.user_id, asker.client)
    throttling.Attempt().count(limit, unless=is_on_its_way)


# --- Policy, and answers ------------------------------------------------------------------------------------------


def _shown(
    version: UpstreamVersion, packages: Sequence[UpstreamPackage], now: datetime
) -> tuple[list[UpstreamPackage], Collection[Decision]]:
    """Return the packages that may be fetched, and all decisions. Raises Refused where policy shows none."""
    found = evaluation.platform_decisions(version, [one.platform for one in packages], now=now)
    shown = [one for one in packages if found[one.platform].is_visible]
    if packages and not shown:
        refusal = min(found.values(), key=lambda one: (one.available_at is None, str(one.available_at)))
        raise Refused(refusal.sentence)
    blocked = storage.quarantined([one.digest for one in shown])
    return [one for one in shown if one.digest not in blocked], found.values()


def _index_of(version: UpstreamVersion, packages: Sequence[UpstreamPackage], seconds: float) -> MirroredDocument:
    raw = manifests.version_index(version, packages)
    return MirroredDocument(raw, digest_of(raw), IMAGE_INDEX, seconds)


def _seconds(upstream: Upstream, found: Collection[Decision], now: datetime) -> float:
    """For how long these decisions hold without a change. 0 where the client's name decides as well."""
    if upstream.terraform_only:
        return 0
    return open_links.seconds_of(found, now=now)


def _list_seconds(provider: UpstreamProvider, now: datetime) -> float:
    """Until the registry is asked again."""
    if provider.upstream.is_sealed or provider.listed_at is None:
        return open_links.ALWAYS
    fresh = provider.upstream.list_seconds - (now - provider.listed_at).total_seconds()
    paused = (provider.retry_at - now).total_seconds() if provider.retry_at else 0.0
    return max(0.0, fresh, paused)
