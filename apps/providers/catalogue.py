"""Search entries of providers, written in each transaction that changes a provider's versions."""

from apps.providers.models import DocsKind, DocsPage, Provider, ProviderVersion
from apps.releases.catalogue import search
from apps.releases.models import Kind, Lifecycle

# A search entry has a limited number of words, and each name is several.
MAX_DOCUMENTED_NAMES = 500


def refresh(provider: Provider) -> None:
    """Recalculate the provider's default version and its search entry; a provider without a version has none.

    Call it in the transaction that publishes, yanks, restores or quarantines. It locks the provider's row first, so
    that the second of two concurrent changes sees the first.
    """
    Provider.objects.select_for_update(no_key=True).get(pk=provider.pk)
    shown = default_version(provider)
    if shown is None:
        search.drop(kind=Kind.PROVIDER, namespace=provider.namespace, name=provider.type)
        return
    search.put(
        release=shown.release,
        description=provider.description,
        words={
            search.NAME: [provider.type],
            search.PLACE: [provider.namespace.name],
            search.DESCRIPTION: [provider.description],
            search.RESOURCE: _documented(shown),
        },
        facets={},
        is_listed=shown.release.lifecycle != Lifecycle.YANKED,
    )


def _documented(shown: ProviderVersion) -> list[str]:
    """Names in its docs: resources, data sources, functions and the like."""
    rows = DocsPage.objects.filter(version=shown).exclude(kind__in=[DocsKind.OVERVIEW, DocsKind.GUIDE])
    return list(rows.order_by("name").values_list("name", flat=True)[:MAX_DOCUMENTED_NAMES])


def default_version(provider: Provider) -> ProviderVersion | None:
    """The highest stable listed version."""
    rows = ProviderVersion.objects.filter(provider=provider).published().default_first()
    return rows.select_related("release__namespace").first()
