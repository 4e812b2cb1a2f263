"""Through which namespaces stored bytes may be fetched: `ReleaseQuerySet.with_bytes` for many digests in one query."""

from collections.abc import Collection, Mapping

from apps.accounts.models import Visibility
from apps.releases.models import Release, ReleaseBlob, State


def places_of(digests: Collection[str]) -> Mapping[str, Mapping[str, str]]:
    """Return the visibility of each namespace that has published the bytes, by canonical name, by digest.

    A digest is missing if no release with it is published, or if any with it is in quarantine.
    """
    columns = ("state", "quarantined_at", "namespace__canonical", "namespace__visibility")
    whole = Release.objects.filter(digest__in=digests).values_list("digest", *columns)
    parts = ReleaseBlob.objects.filter(digest__in=digests)
    found: dict[str, dict[str, str]] = {}
    blocked = set()
    # A union drops repeated rows, so that bytes of a thousand versions cost a row for each namespace.
    for digest, state, quarantined_at, namespace, visibility in whole.union(
        parts.values_list("digest", *(f"release__{column}" for column in columns))
    ):
        if quarantined_at is not None:
            blocked.add(digest)
        elif state == State.PUBLISHED:
            found.setdefault(digest, {})[namespace] = visibility
    return {digest: places for digest, places in found.items() if digest not in blocked}


def public_places(places: Mapping[str, str]) -> frozenset[str]:
    """The public ones among the namespaces of `places_of`."""
    return frozenset(name for name, visibility in places.items() if visibility == Visibility.PUBLIC)
