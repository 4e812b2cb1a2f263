"""Additional facts about a version's docs, for pages and scripts. Finding the version has asked the gate."""

from collections.abc import Iterable

from apps.providers.models import DocsArchive, DocsPage, DocsState, ProviderVersion

_KEPT_IN_VIEW = 10


def versions_with(version: ProviderVersion, page: DocsPage | None) -> set[str]:
    """The numbers of the provider's versions that also have this page."""
    if page is None:
        return set()
    same = DocsPage.objects.filter(version__provider=version.provider_id, kind=page.kind, slug=page.slug)
    return set(same.values_list("version__release__version", flat=True))


def archives_of(version: ProviderVersion) -> list[DocsArchive]:
    """Docs archives uploaded for the version, newest first."""
    return list(version.docs_archives.select_related("created_by").order_by("-pk")[:_KEPT_IN_VIEW])


def is_waiting(archives: Iterable[DocsArchive]) -> bool:
    return any(archive.state == DocsState.RECEIVED for archive in archives)
