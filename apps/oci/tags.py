"""The tags of a repository: rows, and the versions of its module."""

from django.db.models import Exists, OuterRef, QuerySet, Value

from apps.artifacts.models import Tag
from apps.oci import packages
from apps.oci.repositories import VisibleRepository, versions_of


def names(found: VisibleRepository) -> list[str]:
    """Return every tag that answers, in byte order: rows, listed versions, and `latest` if it leads somewhere.

    Tools that copy a whole repository end at the first name that is listed and not there.
    """
    pushed = _served_rows(found).values_list("name", Value(value=False), Value(value=False))
    both = list(pushed.union(packages.listed_numbers(found), all=True))
    of_releases = packages.tags_of(row for row in both if row[1])
    rows = {name for name, is_release, _ in both if not is_release} - of_releases
    if packages.LATEST in rows and packages.served_by_tag(found, packages.LATEST) is None:
        rows.remove(packages.LATEST)
    return sorted(of_releases | rows)


def _served_rows(found: VisibleRepository) -> QuerySet[Tag]:
    """Exclude tags on the manifest of a release in quarantine."""
    with_it = versions_of(**found.coordinate).filter(manifest_digest=OuterRef("manifest__digest"))
    in_quarantine, served = (with_it.filter(release__quarantined_at__isnull=value) for value in (False, True))
    rows = Tag.objects.filter(repository__namespace=found.namespace, repository__path=found.address.path_name)
    return rows.exclude(Exists(in_quarantine) & ~Exists(served))
