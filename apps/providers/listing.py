"""The listed versions of a provider as plain rows: clients ask for this list more than for anything else."""

from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from apps.providers.models import ProviderVersionQuerySet


class Key(NamedTuple):
    """The key that signed a version, for lists."""

    pk: int
    key_id: str
    state: str
    expires_at: datetime | None
    reason: str


class ListedVersion(NamedTuple):
    version: str
    protocols: list[str]
    lifecycle: str
    lifecycle_reason: str
    lifecycle_replacement: str
    notice: str  # the provider's
    key: Key
    platforms: list[tuple[str, str]]


_OF_KEY = ("key_id", "key__key_id", "key__state", "key__expires_at", "key__reason")
_OF_VERSION = (
    "release__version",
    "protocols",
    *(f"release__lifecycle{column}" for column in ("", "_reason", "_replacement")),
    "provider__notice",
)


def listed(rows: ProviderVersionQuerySet) -> list[ListedVersion]:
    """The listed versions among `rows`, highest first, each with its platforms in order. One query for all of it."""
    found = rows.listed().newest_first().values_list("pk", *_OF_VERSION, *_OF_KEY, "packages__os", "packages__arch")
    return [_version(list(packages)) for _, packages in groupby(found, key=itemgetter(0))]


def _version(packages: list[tuple[Any, ...]]) -> ListedVersion:
    values = packages[0][1:]
    split = len(_OF_VERSION)
    platforms = sorted(row[-2:] for row in packages)
    return ListedVersion._make((*values[:split], Key(*values[split:-2]), platforms))
