"""The signing keys of a namespace for its readers, with the number and dates of the versions that each has signed."""

import re
from typing import Any

from django.db.models import Count, Max, Min, QuerySet

from apps.accounts.models import Namespace
from apps.lib.errors import NotFound
from apps.providers.models import ProviderVersion, ProviderVersionQuerySet
from apps.signing.models import SigningKey

_FINGERPRINT = re.compile(r"[0-9A-F]{40}")


def keys_of(namespace: Namespace) -> QuerySet[SigningKey, Any]:
    """Newest first, in every state, each with `release_count`, `first_used_at` and `last_used_at`."""
    return (
        SigningKey.objects.filter(namespace=namespace)
        .newest_first()
        .annotate(
            release_count=Count("provider_versions"),
            first_used_at=Min("provider_versions__release__published_at"),
            last_used_at=Max("provider_versions__release__published_at"),
        )
    )


def key_of(namespace: Namespace, fingerprint: str) -> SigningKey:
    """One of `keys_of`, by its fingerprint in any spacing or case. Raises NotFound."""
    wanted = fingerprint.replace(" ", "").upper()
    # Keys in generation have an empty one.
    found: SigningKey | None = (
        keys_of(namespace).filter(fingerprint=wanted).first() if _FINGERPRINT.fullmatch(wanted) else None
    )
    if found is None:
        raise NotFound(
            f"There is no signing key {fingerprint[:80]!a} in {namespace.name}.",
            hint="The list of its signing keys has all fingerprints, with 40 hex digits each.",
        )
    return found


def signed_by(key: SigningKey) -> ProviderVersionQuerySet:
    """Versions signed by the key, newest publication first; includes yanked versions, excludes quarantined ones."""
    rows = ProviderVersion.objects.published().filter(key=key)
    return rows.select_related("provider__namespace", "release").order_by("-release__published_at", "-pk")
