"""Two versions of one provider side by side: platforms, plugin protocols, the signing key, documentation pages.

docs/version-guard.md lists the rules.
"""

from collections.abc import Iterator

from django.db.models import Exists, OuterRef, Value
from django.db.models.functions import Replace

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ProviderAddress
from apps.providers.docs.rendering import docs_path
from apps.providers.models import DocsKind, DocsPage, ProviderVersion, Signing
from apps.providers.reading import provider_for, version_of
from apps.releases.catalogue.comparing import Change, Comparison, Severity, numbers_in, sorted_by_severity

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
    changes = [*_platforms(before, after), *_protocols(before, after), *_signing(before, after), *_docs(before, after)]
    return Comparison(provider.address, before.release, after.release, sorted_by_severity(changes), SENTENCES)


def _platforms(before: ProviderVersion, after: ProviderVersion) -> Iterator[Change]:
    old, new = ({package.platform for package in version.packages.all()} for version in (before, after))
    for platform in old - new:
        yield Change("platform", platform, Severity.BREAKING, "platform_removed", before=platform)
    for platform in new - old:
        yield Change("platform", platform, Severity.COMPATIBLE, "platform_added", after=platform)


def _protocols(before: ProviderVersion, after: ProviderVersion) -> Iterator[Change]:
    """Clients choose by the major number alone."""
    by_major: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for version, spoken in zip((before, after), by_major, strict=True):
        for protocol in sorted(version.protocols):
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


def _signing(before: ProviderVersion, after: ProviderVersion) -> Iterator[Change]:
    old, new = before.key.fingerprint, after.key.fingerprint
    if old != new:
        yield Change("key", after.key.key_id, Severity.RISKY, "key_replaced", old, new)
    if before.signing != after.signing:
        signers = [Signing(version.signing).label for version in (before, after)]
        yield Change("key", after.key.key_id, Severity.RISKY, "signer_changed", *signers)


def _docs(before: ProviderVersion, after: ProviderVersion) -> Iterator[Change]:
    # The names of the pages of each version, by kind and slug.
    pages: dict[int, dict[tuple[str, str], str]] = {before.pk: {}, after.pk: {}}
    rows = DocsPage.objects.filter(version__in=pages)
    for version, kind, slug, name in rows.values_list("version_id", "kind", "slug", "name"):
        pages[version][kind, slug] = name
    old, new = pages[before.pk], pages[after.pk]
    if old and not new:
        yield Change("docs", "Documentation", Severity.RISKY, "all_docs_removed", f"{len(old)} pages")
        return
    for place in old.keys() - new.keys():
        is_prose = place[0] in _PROSE
        severity, rule = (Severity.COMPATIBLE, "guide_removed") if is_prose else (Severity.RISKY, "docs_removed")
        yield Change("docs", old[place], severity, rule, before=_path(place))
    for place in new.keys() - old.keys():
        yield Change("docs", new[place], Severity.COMPATIBLE, "docs_added", after=_path(place))
    # Compared in the database: together the texts can have many megabytes. Links name their version.
    paths = [Value(docs_path(one.provider.address, one.release.version)) for one in (after, before)]
    same_page = DocsPage.objects.filter(version=before, kind=OuterRef("kind"), slug=OuterRef("slug"))
    rows = DocsPage.objects.filter(Exists(same_page), version=after)
    rows = rows.annotate(comparable=Replace("html", *paths))
    equal = same_page.filter(html=OuterRef("comparable"))
    for place in list(rows.filter(~Exists(equal)).values_list("kind", "slug")):
        path = _path(place)
        yield Change("docs", new[place], Severity.COMPATIBLE, "docs_changed", path, path)


def _path(place: tuple[str, str]) -> str:
    return "/".join(place)
