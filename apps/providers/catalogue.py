"""Search entries of providers, written in each transaction that changes a provider's versions or its description."""

import re

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind as Event
from apps.providers.models import DocsPage, Provider, ProviderVersion
from apps.releases.catalogue import describing, indexing
from apps.releases.catalogue.describing import checked_line, checked_url
from apps.releases.catalogue.indexing import Entry, Item
from apps.releases.docs.models import DocsKind
from apps.releases.models import Kind, Lifecycle

# A provider of a large cloud documents about 2,500.
MAX_DOCUMENTED_NAMES = 3_000
# Where lists put each kind of page; every other kind is called a resource.
_PLACES: dict[str, int] = {
    DocsKind.DATA_SOURCE: indexing.DATA_SOURCE,
    DocsKind.LIST: indexing.DATA_SOURCE,
    DocsKind.EPHEMERAL: indexing.EPHEMERAL,
    DocsKind.FUNCTION: indexing.FUNCTION,
}
_TAG = re.compile(r"<[^>]*>")
MAX_NOTICE_CHARACTERS = 500
SHORTER = "Describe the provider in one line; its documentation has the details."
BRIEFER = "Clients show it at every init: write the most important point and link to the details."


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
    # Names in its docs: resources, data sources, functions and the like.
    pages = DocsPage.objects.filter(version=shown).exclude(kind__in=[DocsKind.OVERVIEW, DocsKind.GUIDE])
    rows = pages.order_by("name", "kind").values_list("kind", "slug", "name")[:MAX_DOCUMENTED_NAMES]
    page = DocsPage.objects.filter(version=shown, kind=DocsKind.OVERVIEW).first()
    entry = Entry(
        description=provider.description,
        words={
            indexing.NAME: [provider.type],
            indexing.PLACE: [provider.namespace.name],
            indexing.DESCRIPTION: [provider.description],
        },
        items=[Item(_PLACES.get(kind, indexing.RESOURCE), name, f"{kind}/{slug}") for kind, slug, name in rows],
        readme=(_TAG.sub(" ", page.html) if page else ""),
    )
    indexing.put(release=shown.release, entry=entry, is_listed=shown.release.lifecycle != Lifecycle.YANKED)


def default_version(provider: Provider) -> ProviderVersion | None:
    """The highest stable listed version."""
    rows = ProviderVersion.objects.filter(provider=provider).published().default_first()
    return rows.select_related("release__namespace").first()


def describe(
    *,
    provider: Provider,
    actor: Viewer,
    description: str | None = None,
    source_url: str | None = None,
    notice: str | None = None,
) -> None:
    """Change the given fields; None leaves a field unchanged. Raises Invalid. Clients show the notice at every init."""
    fields = {
        "description": None if description is None else checked_line("description", description, hint=SHORTER),
        "source_url": None if source_url is None else checked_url(source_url),
        "notice": None if notice is None else checked_line("notice", notice, most=MAX_NOTICE_CHARACTERS, hint=BRIEFER),
    }
    kind = Event.PROVIDER_DESCRIBED
    describing.save_changes(provider, fields, actor=actor, kind=kind, address=provider.address, refresh=refresh)
