"""Which releases stand behind the bytes that clients fetch: a package, SHA256SUMS or its signature."""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from apps.providers.models import Package, ProviderVersion


def releases_of(digest: str) -> list[QuerySet[Any, Any]]:
    """The numbers of the releases with these bytes, in any state, as queries to be united: each reads one index."""
    return [
        Package.objects.filter(digest=digest).values_list("version__release", flat=True),
        ProviderVersion.objects.filter(sums_digest=digest).values_list("release", flat=True),
        ProviderVersion.objects.filter(signature_digest=digest).values_list("release", flat=True),
    ]


def quarantined_digests(most: int) -> Iterator[str]:
    """The digests of all that versions in quarantine are made of, of the latest quarantine first."""
    held = ProviderVersion.objects.filter(release__quarantined_at__isnull=False)
    newest = held.order_by("-release__quarantined_at", "-pk")
    for pair in newest.values_list("sums_digest", "signature_digest")[:most]:
        yield from pair
    packages = Package.objects.filter(version__in=held).order_by("-version__release__quarantined_at", "-pk")
    yield from packages.values_list("digest", flat=True)[:most]
