"""Repositories and tags as targets of jobs. A search word is a namespace, or a repository's URL."""

from django.db.models import Q

from apps.contrib.git import host_scanning, previewing, queueing, syncing
from apps.contrib.git.models import GitRepository, Tag
from apps.jobs.targets import Source

_REPOSITORIES = Source(
    GitRepository.objects.select_related("namespace").defer("preview", "log", "host_scan").all,
    lambda word: Q(namespace__name=word) | Q(url=word),
)
SOURCES = {
    **dict.fromkeys((syncing.JOB, previewing.JOB, host_scanning.JOB), _REPOSITORIES),
    queueing.PUBLISH_JOB: Source(
        Tag.objects.select_related("repository__namespace").all,
        lambda word: Q(repository__namespace__name=word) | Q(repository__url=word) | Q(name=word),
    ),
}
