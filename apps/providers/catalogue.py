"""Search entries of providers, written in each transaction that changes a provider's versions."""

import re

from apps.providers.models import DocsKind, DocsPage, Provider, ProviderVersion
from apps.releases.catalogue import indexing
from apps.releases.catalogue.indexing import Entry, Item
from apps.releases.models import Kind, Lifecycle

# A provider of a large cloud documents about 2,500.
MAX_DOCUMENTED_NAMES = 3_000
# Read-only, like data sources; everything else is called a resource in lists.
_DATA_SOURCES = (DocsKind.DATA_SOURCE, DocsKind.EPHEMERAL, DocsKind.FUNCTION, DocsKind.LIST)
_TAG = re.compile(r"<[^>]*>")


def refresh(provider: Provider) -> None:
    """Recalculate the provider's default version and its search entry; a provider without a version has none.

    Call it in the transaction that publishes, yanks, restores or quarantines. It locks the provider's row first, so
    that the second of two concurrent changes sees the first.
    """
    Provider.objects.select_for_update(no_key=True).get(pk=provider.pk)
    shown = default_version(provider)
    if shown is None:
        indexing.drop(kind=Kind.PROVIDER, namespace=provider.namespace, name=provider.type)
        return
    entry = Entry(
        description=provider.description,
        words={
            indexing.NAME: [provider.type],
            indexing.PLACE: [provider.namespace.name],
            indexing.DESCRIPTION: [provider.description],
        },
        items=_documented(shown),
        readme=_overview(shown),
    )
    indexing.put(release=shown.release, entry=entry, is_listed=shown.release.lifecycle != Lifecycle.YANKED)


def _documented(shown: ProviderVersion) -> list[Item]:
    """Names in its docs: resources, data sources, functions and the like."""
    pages = DocsPage.objects.filter(version=shown).exclude(kind__in=[DocsKind.OVERVIEW, DocsKind.GUIDE])
    rows = pages.order_by("name", "kind").values_list("kind", "slug", "name")[:MAX_DOCUMENTED_NAMES]
    return [
        Item(indexing.DATA_SOURCE if kind in _DATA_SOURCES else indexing.RESOURCE, name, f"{kind}/{slug}")
        for kind, slug, name in rows
    ]


def _overview(shown: ProviderVersion) -> str:
    page = DocsPage.objects.filter(version=shown, kind=DocsKind.OVERVIEW).first()
    return _TAG.sub(" ", page.html) if page else ""


def default_version(provider: Provider) -> ProviderVersion | None:
    """The highest stable listed version."""
    rows = ProviderVersion.objects.filter(provider=provider).published().default_first()
    return rows.select_related("release__namespace").first()
