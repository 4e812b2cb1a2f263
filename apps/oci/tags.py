"""The tags of a repository: rows, and the versions of its module."""

from apps.oci import packages
from apps.oci.models import Tag
from apps.oci.repositories import Found


def names(found: Found) -> list[str]:
    """Every tag in the order of bytes: rows, listed versions, and `latest` where it leads somewhere."""
    rows = Tag.objects.filter(repository__namespace=found.namespace, repository__path=found.address.path_name)
    listed = {*rows.values_list("name", flat=True), *packages.listed_tags(found)}
    return sorted(listed)
