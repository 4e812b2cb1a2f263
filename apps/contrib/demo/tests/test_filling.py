"""A demonstration is filled step by step, where Larder is one."""

import pytest

from apps.audit.models import AuditEvent
from apps.contrib.demo import tasks
from apps.contrib.demo.seed import module_archive, seed
from apps.jobs.models import Job
from apps.releases.models import Release

pytestmark = pytest.mark.django_db


def test_the_same_bytes_are_made_each_time_and_each_version_says_what_changed() -> None:
    first, second = module_archive("acme/vpc/aws", "1.0.0"), module_archive("acme/vpc/aws", "2.0.0")

    assert first == module_archive("acme/vpc/aws", "1.0.0")
    assert first != second


def test_filling_continues_where_it_was_interrupted(demonstration: object, worker_host: None) -> None:
    tasks.fill()
    first = Release.objects.count()
    tasks.fill()

    assert Release.objects.count() == first == len(seed().facts["modules"])
    assert Job.objects.filter(kind="publish-module").count() == first


def test_elsewhere_nothing_is_filled_or_reset(db: None) -> None:
    tasks.fill()
    tasks.reset()

    assert not Release.objects.exists()
    assert not AuditEvent.objects.exists()
