"""Reading stored archives again: what the pages say changes, the bytes and the version do not."""

from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.modules import inspection, reinspection
from apps.modules.models import ModuleVersion
from apps.modules.tasks import inspect_module
from tests.builders.archives import module_zip

pytestmark = pytest.mark.django_db


@pytest.fixture
def old(published) -> ModuleVersion:
    """A version as the first Larder wrote it."""
    published()
    ModuleVersion.objects.update(inspector="", inspection={}, files=[{"name": "main.tf", "size": 1}], readme_html="")
    return ModuleVersion.objects.get()


def run_jobs() -> None:
    for job in Job.objects.filter(kind=reinspection.JOB, state="queued"):
        inspect_module(job_id=job.pk)


def test_other_bytes_than_those_that_were_published_are_not_read(old):
    digest = old.release.digest
    path = Path(settings.DATA_DIR) / "blobs" / "sha256" / digest[:2] / digest
    path.unlink()
    path.write_bytes(module_zip({"main.tf": 'variable "another" {}\n'}))
    reinspection.request(reinspection.outdated(), actor_id=None)
    run_jobs()
    old.refresh_from_db()

    assert old.inspector == ""
    assert Job.objects.get(kind=reinspection.JOB).state != "succeeded"


@pytest.mark.both
def test_an_old_version_is_read_by_todays_rules(old):
    assert reinspection.request(reinspection.outdated(), actor_id=None) == 1
    run_jobs()
    old.refresh_from_db()
    assert old.inspector == inspection.INSPECTOR
    assert [found["name"] for found in old.inspection["units"][0]["variables"]] == ["name"]
    assert "at" in old.files[0]
    assert old.readme_html
    assert AuditEvent.objects.filter(kind="namespace:release:inspected").count() == 1
    assert not reinspection.outdated().exists()


def test_the_command_says_how_many_it_queues_none_twice_and_a_version_that_is_gone_ends_its_job(old):
    for arguments, said in (([], "1 queued"), (["--all"], "0 queued")):
        out = StringIO()
        call_command("reinspect", *arguments, stdout=out)
        assert out.getvalue().startswith(said)

    ModuleVersion.objects.all().delete()
    run_jobs()
    assert Job.objects.get(kind=reinspection.JOB).state == "succeeded"


def test_many_versions_are_inspected_in_bulk_some_at_a_time_and_few_at_once(published):
    for number in range(10):
        published(version=f"1.{number}.0")
    first = ModuleVersion.objects.order_by("pk").values_list("pk", flat=True)[:8]
    reinspection.request(ModuleVersion.objects.filter(pk__in=list(first)), actor_id=None)
    few = Job.objects.filter(kind=reinspection.JOB)
    assert (few.awaited().count(), few.rung().count()) == (8, 8)
    few.delete()

    reinspection.request(ModuleVersion.objects.all(), actor_id=None)

    many = Job.objects.filter(kind=reinspection.JOB)
    assert set(many.values_list("source", flat=True)) == {"inspections"}
    assert (many.count(), many.rung().count()) == (10, 8)
    inspect_module(job_id=many.order_by("pk")[0].pk)
    assert many.rung().count() == 8, "the next was rung for"
