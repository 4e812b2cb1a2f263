"""Two versions of one provider side by side: platforms, plugin protocols, the signing key, documentation pages.

docs/version-guard.md lists the rules.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from django.db.models import Exists, OuterRef, Value
from django.db.models.functions import Replace

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ProviderAddress
from apps.providers.docs.sources import docs_path
from apps.providers.models import DocsPage, Package, ProviderVersion, Signing
from apps.providers.reading import provider_for, version_of
from apps.releases.catalogue.comparing import (
    Change,
    Comparison,
    Severity,
    noted,
    numbers_in,
    previous_among,
    sorted_by_severity,
)
from apps.releases.docs.models import DocsKind
from apps.releases.models import Release
from apps.signing.models import SigningKey

SENTENCES = {
    "platform_removed": "platform removed",
    "platform_added": "new platform",
    "protocol_removed": "plugin protocol removed: clients that need it cannot run the provider",
    "protocol_added": "plugin protocol added",
    "protocol_changed": "minor version of the plugin protocol changed",
    "key_replaced": "signed with another key",
    "signer_changed": "signer changed between publisher and Larder",
    "docs_removed": "page removed: the provider may no longer have it",
    "docs_added": "new page",
    "docs_changed": "page changed",
    "guide_removed": "page removed",
    "all_docs_removed": "documentation removed",
}
# Kinds of pages that only explain. The others each document something that configurations use.
_PROSE = (DocsKind.OVERVIEW, DocsKind.GUIDE)


def compare(viewer: Viewer, address: ProviderAddress, asked: str) -> Comparison:
    """`asked` is `1.0.0...1.1.0`. Raises as the gate does, and NotFound for a number that is not published."""
    provider = provider_for(viewer, address)
    before, after = (version_of(viewer, provider, number) for number in numbers_in(asked))
    changes = [*_facts(Facts.of(before), Facts.of(after)), *_docs_of(before, after)]
    return Comparison(provider.address, before.release, after.release, sorted_by_severity(changes), SENTENCES)


@dataclass(frozen=True, slots=True)
class Facts:
    """Of a version, also of one that is not published yet."""

    platforms: Collection[str]
    protocols: Collection[str]
    key: SigningKey
    signing: str

    @classmethod
    def of(cls, version: ProviderVersion) -> Self:
        platforms = {package.platform for package in version.packages.all()}
        return cls(platforms, version.protocols, version.key, version.signing)


def compare_awaited(
    release: Release, *, facts: Facts, packages: Iterable[Package], pages: Iterable[DocsPage]
) -> dict[str, Any]:
    """Return the changes in a release that awaits approval, before it is stored. Empty `against`: nothing is published
    yet.
    """
    published = ProviderVersion.objects.published()
    rows = published.filter(provider__namespace=release.namespace, provider__type=release.name)
    chosen = previous_among(rows, release.version)
    new = {package.platform: package for package in packages}
    if chosen is None:
        return {"against": "", "packages": _packages({}, new)}
    before = ProviderVersion.objects.select_related("release__namespace", "provider__namespace", "key").get(pk=chosen)
    changes = [*_facts(Facts.of(before), facts), *_docs_to_be(before, release, pages)]
    address = before.provider.address
    comparison = Comparison(address, before.release, release, sorted_by_severity(changes), SENTENCES)
    old = {package.platform: package for package in before.packages.all()}
    return noted(comparison) | {"packages": _packages(old, new)}


def _packages(old: Mapping[str, Package], new: Mapping[str, Package]) -> list[dict[str, Any]]:
    """Every platform of both, with its file and how large it was and is."""
    rows = []
    for platform in sorted(old.keys() | new.keys()):
        one, other = old.get(platform), new.get(platform)
        shown = other or one
        assert shown is not None  # noqa: S101  # it is in one of them
        rows.append(
            {
                "platform": platform,
                "file": shown.filename,
                "before": one.size if one else None,
                "after": other.size if other else None,
                "digest": other.digest if other else "",
                "is_same": one is not None and other is not None and one.digest == other.digest,
            }
        )
    return rows


def _facts(old: Facts, new: Facts) -> Iterator[Change]:
    yield from _platforms(set(old.platforms), set(new.platforms))
    yield from _protocols(old.protocols, new.protocols)
    if old.key.fingerprint != new.key.fingerprint:
        fingerprints = old.key.fingerprint, new.key.fingerprint
        yield Change("key", new.key.key_id, Severity.RISKY, "key_replaced", *fingerprints)
    if old.signing != new.signing:
        signers = [Signing(one.signing).label for one in (old, new)]
        yield Change("key", new.key.key_id, Severity.RISKY, "signer_changed", *signers)


def _platforms(old: set[str], new: set[str]) -> Iterator[Change]:
    for platform in old - new:
        yield Change("platform", platform, Severity.BREAKING, "platform_removed", before=platform)
    for platform in new - old:
        yield Change("platform", platform, Severity.COMPATIBLE, "platform_added", after=platform)


def _protocols(*versions: Collection[str]) -> Iterator[Change]:
    """Clients choose by the major number alone."""
    by_major: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for protocols, spoken in zip(versions, by_major, strict=True):
        for protocol in sorted(protocols):
            major = protocol.partition(".")[0]
            spoken[major] = f"{spoken[major]}, {protocol}" if major in spoken else protocol
    old, new = by_major
    for major in old.keys() - new.keys():
        yield Change("protocol", major, Severity.BREAKING, "protocol_removed", before=old[major])
    for major in new.keys() - old.keys():
        yield Change("protocol", major, Severity.COMPATIBLE, "protocol_added", after=new[major])
    for major in old.keys() & new.keys():
        if old[major] != new[major]:
            yield Change("protocol", major, Severity.COMPATIBLE, "protocol_changed", old[major], new[major])


Places = Mapping[tuple[str, str], str]  # the names of the pages of a version, by kind and slug


def _places(*versions: ProviderVersion) -> dict[int, dict[tuple[str, str], str]]:
    pages: dict[int, dict[tuple[str, str], str]] = {version.pk: {} for version in versions}
    rows = DocsPage.objects.filter(version__in=pages)
    for version, kind, slug, name in rows.values_list("version_id", "kind", "slug", "name"):
        pages[version][kind, slug] = name
    return pages


def _docs_of(before: ProviderVersion, after: ProviderVersion) -> Iterator[Change]:
    places = _places(before, after)
    old, new = places[before.pk], places[after.pk]
    yield from _pages(old, new)
    if not (old and new):
        return
    # Compared in the database: together the texts can have many megabytes. Links name their version.
    paths = [Value(docs_path(one.provider.address, one.release.version)) for one in (after, before)]
    same_page = DocsPage.objects.filter(version=before, kind=OuterRef("kind"), slug=OuterRef("slug"))
    rows = DocsPage.objects.filter(Exists(same_page), version=after).annotate(comparable=Replace("html", *paths))
    equal = same_page.filter(html=OuterRef("comparable"))
    for place in list(rows.filter(~Exists(equal)).values_list("kind", "slug")):
        yield _changed(place, new)


def _docs_to_be(before: ProviderVersion, release: Release, pages: Iterable[DocsPage]) -> Iterator[Change]:
    """Yield the changes like `_docs_of`, for pages without rows: one text of the published version at a time."""
    to_be = {(page.kind, page.slug): page for page in pages}
    old, new = _places(before)[before.pk], {place: page.name for place, page in to_be.items()}
    yield from _pages(old, new)
    address = before.provider.address
    there, here = (docs_path(address, version) for version in (release.version, before.release.version))
    rows = DocsPage.objects.filter(version=before).values_list("kind", "slug", "html")
    for kind, slug, html in rows.iterator(chunk_size=20):
        page = to_be.get((kind, slug))
        if page is not None and page.html.replace(there, here) != html:
            yield _changed((kind, slug), new)


def _pages(old: Places, new: Places) -> Iterator[Change]:
    if old and not new:
        yield Change("docs", "Documentation", Severity.RISKY, "all_docs_removed", f"{len(old)} pages")
        return
    for place in old.keys() - new.keys():
        is_prose = place[0] in _PROSE
        severity, rule = (Severity.COMPATIBLE, "guide_removed") if is_prose else (Severity.RISKY, "docs_removed")
        yield Change("docs", old[place], severity, rule, before=_path(place))
    for place in new.keys() - old.keys():
        yield Change("docs", new[place], Severity.COMPATIBLE, "docs_added", after=_path(place))


def _changed(place: tuple[str, str], names: Places) -> Change:
    path = _path(place)
    return Change("docs", names[place], Severity.COMPATIBLE, "docs_changed", path, path)


def _path(place: tuple[str, str]) -> str:
    return "/".join(place)
