"""The other versions of a module or provider: the menu in the head of its pages, and facts about all of them."""

from collections.abc import Callable
from typing import Any

from django.db.models import BigIntegerField, BinaryField, Count, QuerySet, Subquery

from apps.jobs.compiled_queries import CompiledQuery, Slot
from apps.releases.models import Kind
from apps.releases.origin.models import verified

SHOWN = 20
# Only what the menu shows: the texts of a module can be large.
_COLUMNS = ("version", "lifecycle", "published_at")

# The page of another version, by its number.
UrlOf = Callable[[str], str]


class Switcher:
    """Two queries for any number of versions, which Django writes once: they stand on every page of a version."""

    def __init__(self, parents: Any, versions: Any, kind: Kind) -> None:
        self._parents, self._versions, self._kind = parents, versions, kind
        self._facts: CompiledQuery[dict[str, Any]] = CompiledQuery(self._about)
        self._first: CompiledQuery[Any] = CompiledQuery(self._newest)

    def context_of(self, shown: Any, url_in: UrlOf) -> dict[str, Any]:
        release, parent = shown.release, getattr(shown, f"{self._kind}_id")
        key = bytes(release.sort_key)
        found = self._facts(parent=parent, key=key, release=release.pk)[0]
        found |= {"latest": found["latest"] or release.version, "version_count": found["version_count"] or 0}
        return {
            **found,
            "is_latest": found["latest"] == release.version,
            "is_older": key < bytes(found["latest_key"] or key),
            "versions": [(one, url_in(one.release.version)) for one in self._first(parent=parent)],
            **{f"{step}_url": url_in(found[step]) for step in ("newer", "older") if found[step]},
        }

    def _about(self) -> QuerySet[Any, dict[str, Any]]:
        rows, key, number = self._readable(), Slot("key", BinaryField()), "release__version"
        listed = rows.listed()
        asked = {
            "newer": listed.filter(release__sort_key__gt=key).newest_first().reverse().values(number)[:1],
            "older": listed.filter(release__sort_key__lt=key).newest_first().values(number)[:1],
            "latest": rows.default_first().values(number)[:1],
            "latest_key": rows.default_first().values("release__sort_key")[:1],
            "highest": rows.newest_first().values(number)[:1],
            "version_count": rows.order_by().values(self._kind).annotate(number=Count("pk")).values("number"),
        }
        about: dict[str, Any] = {name: Subquery(query) for name, query in asked.items()}
        about["is_verified"] = verified(Slot("release", BigIntegerField()))
        parent = self._parents.objects.filter(pk=Slot("parent", BigIntegerField()))
        found: QuerySet[Any, dict[str, Any]] = parent.annotate(**about).values(*about)
        return found

    def _newest(self) -> QuerySet[Any]:
        rows = self._readable().newest_first().select_related("release")
        found: QuerySet[Any] = rows.only(self._kind, "is_prerelease", *(f"release__{one}" for one in _COLUMNS))[:SHOWN]
        return found

    def _readable(self) -> Any:
        return self._versions.objects.published().filter(**{self._kind: Slot("parent", BigIntegerField())})
