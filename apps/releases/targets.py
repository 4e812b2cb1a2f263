"""Releases as targets of jobs."""

from django.db.models import Q

from apps.admin_base.base import address_condition
from apps.jobs.targets import Source
from apps.releases.lifecycle import purging, verification
from apps.releases.models import Release


def by_address(word: str, release: str = "") -> Q:
    """Match an address or its beginning, a namespace, or a version; `release` is the ORM path to the release."""
    found = address_condition(word, f"{release}namespace__name", f"{release}name")
    return found or Q(**{f"{release}namespace__name": word}) | Q(**{f"{release}version": word})


RELEASES = Source(Release.objects.select_related("namespace").all, by_address)
SOURCES = dict.fromkeys((purging.JOB, verification.JOB), RELEASES)
