"""Releases as targets of jobs, for this room and those above."""

from django.db.models import Q, QuerySet

from apps.jobs.targets import Source
from apps.releases.models import Release


def _rows() -> QuerySet[Release]:
    return Release.objects.select_related("namespace")


def by_address(word: str, release: str = "") -> Q:
    """Match an address or its beginning, a namespace, or a version; `release` is the ORM path to the release."""
    namespace, slash, rest = word.partition("/")
    in_namespace = Q(**{f"{release}namespace__name": namespace})
    if slash:
        return in_namespace & Q(**{f"{release}name__startswith": rest})
    return in_namespace | Q(**{f"{release}version": word})


RELEASES = Source(_rows, by_address)
