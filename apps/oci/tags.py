"""The tags of a repository: rows, and the versions of its module."""

from apps.oci.repositories import Found


def names(found: Found) -> list[str]:
    """Every tag in the order of bytes: rows, listed versions, and `latest` where it leads somewhere."""
    raise NotImplementedError
