"""A release that waits for its publisher's answer: its reservation, the answers, and its end."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Conflict, Invalid
from apps.modules import answers, publishing
from apps.modules.tasks import publish_module
from apps.releases.models import Release
from apps.releases.publishing import sweeping
from tests.builders.archives import MODULE, PRIVATE_KEY
from tests.flows.test_ways_in import MONOREPO

SECRETS = {**MODULE, "terraform.tfstate": "{}", "id_rsa": PRIVATE_KEY}


@pytest.fixture
def answer(alice, work):
    def say(release: Release, *confirm: str, user=None, **more) -> list[Release]:
        begun = answers.answer(release=release, viewer=Viewer(user or alice), confirm=confirm, **more)
        work()
        for one in begun:
            one.refresh_from_db()
        return begun

    return say


def staged(stored_files) -> list[str]:
    return [key for key in stored_files() if key.startswith("staging/")]


def test_it_waits_with_its_bytes_and_its_number_though_its_job_rings_again(uploaded, stored_files, alice):
    release = uploaded(SECRETS)
    Job.objects.update(state="queued")
    publish_module(job_id=Job.objects.get().pk)
    release.refresh_from_db()
    assert release.state == "held"
    assert [question["code"] for question in release.questions] == ["state_file", "private_key"]
    assert release.held_until > timezone.now()
    assert len(staged(stored_files)) == 1
    with pytest.raises(Conflict, match="held"):
        publishing.reserve_release(viewer=Viewer(alice), address=ModuleAddress("acme", "vpc", "aws"), version="1.2.0")


def test_yes_lets_it_go_on(uploaded, answer, stored_files):
    (release,) = answer(uploaded(SECRETS), "state_file", "private_key")
    assert release.state == "published"
    assert release.confirmed == ["private_key", "state_file"]
    assert release.notes["left_out"] == ["terraform.tfstate"]
    assert staged(stored_files) == []
    events = AuditEvent.objects.filter(kind__in=["namespace:release:held", "namespace:release:answered"])
    assert sorted(events.values_list("kind", flat=True)) == ["namespace:release:answered", "namespace:release:held"]


def test_without_a_module_at_the_root_it_asks_for_the_folder(uploaded, answer):
    release = uploaded(MONOREPO)
    assert [question["code"] for question in release.questions] == ["choose_folder"]
    with pytest.raises(Invalid, match="expected one that contains a module"):
        answer(release, folder="stacks/none")
    with pytest.raises(Invalid):
        answer(release, folder="")
    (published,) = answer(release, folder="stacks/vpc")
    assert (published.state, published.folder) == ("published", "stacks/vpc")


def test_the_upload_stays_until_its_last_release_has_ended(uploaded, alice, stored_files):
    release = uploaded(MONOREPO, multiple_modules=True)
    more = [answers.Part("stacks/dns", ModuleAddress("acme", "dns", "aws"), "2.0.0")]
    answers.answer(release=release, viewer=Viewer(alice), confirm=(), folder="stacks/vpc", more=more)
    first, second = Job.objects.filter(state="queued").order_by("pk")
    publish_module(job_id=second.pk)
    assert len(staged(stored_files)) == 1
    publish_module(job_id=first.pk)
    assert staged(stored_files) == []


@pytest.mark.both
def test_nobody_answers_and_it_ends(uploaded, stored_files):
    release = uploaded(SECRETS)
    assert sweeping.sweep() == 0
    Release.objects.update(held_until=timezone.now() - timedelta(seconds=1))
    assert sweeping.sweep() == 1
    release.refresh_from_db()
    assert (release.state, release.reasons[0]["code"]) == ("rejected", "unanswered")
    assert staged(stored_files) == []
