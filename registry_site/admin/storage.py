"""Storage use: kinds, namespaces, and modules, providers and OCI repositories, ranked by bytes."""

from collections import Counter
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Sum
from django.urls import reverse

from apps.artifacts import repositories
from apps.blobs import store
from apps.blobs.models import Blob
from apps.releases.publishing import quotas

SHOWN = 50
OCI = "oci"
KINDS = {"module": "Modules", "provider": "Providers", OCI: "Pushed over OCI, beside releases"}


def total() -> dict[str, Any]:
    """Return `files` and `stored`, each file once, and `free`: None if storage does not tell, or is down."""
    found = Blob.objects.aggregate(files=Count("pk"), stored=Sum("size", default=0))
    try:
        return found | {"free": store.free_bytes()}
    except store.StorageUnavailable:
        return found | {"free": None}


def ranking() -> dict[str, list[dict[str, Any]]]:
    """Return tables by title, whose rows have `name`, `url` and `stored`.

    Bytes that several versions share count for each of them, as in quotas; so do bytes that several repositories share.
    """
    beside = quotas.counted()
    by_namespace, by_kind = Counter[str](), Counter[str](dict.fromkeys(KINDS, 0))
    for row in quotas.stored_by("namespace__name", "kind"):
        by_namespace[row["namespace__name"]] += row["stored"]
        by_kind[row["kind"]] += row["stored"]
    for row in repositories.stored_by("repository__namespace__name", beside=beside):
        by_namespace[row["repository__namespace__name"]] += row["stored"]
        by_kind[OCI] += row["stored"]

    releases, pushes = reverse("admin:releases_release_changelist"), reverse("admin:oci_repository_changelist")
    largest = [
        _found(releases, f"{row['namespace__name']}/{row['name']}", row["stored"])
        for row in quotas.stored_by("namespace__name", "name", "kind")[:SHOWN]
    ]
    for row in repositories.stored_by("repository__namespace__name", "repository__path", beside=beside)[:SHOWN]:
        address = f"{row['repository__namespace__name']}/{row['repository__path']}"
        largest.append(_found(pushes, address, row["stored"], " over OCI"))
    return {
        "Kind": [_row(KINDS[kind], stored) for kind, stored in by_kind.most_common()],
        "Namespace": _first(
            [
                _row(name, stored, reverse("portal:namespace-usage", args=[name]))
                for name, stored in by_namespace.items()
            ]
        ),
        "Module, provider or OCI repository": _first(largest),
    }


def _first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (-row["stored"], row["name"]))[:SHOWN]


def _row(name: str, stored: int, url: str = "") -> dict[str, Any]:
    return {"name": name, "stored": stored, "url": url}


def _found(listed: str, address: str, stored: int, by: str = "") -> dict[str, Any]:
    return _row(address + by, stored, f"{listed}?{urlencode({'q': address})}")
