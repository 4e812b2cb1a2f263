"""…/repositories/<id>/preview: what rules would publish, before anything is. The server lets the request wait."""

import time

import pytest

from apps.contrib.git.models import GitRepository, Tag
from apps.contrib.git.tests.conftest import RULES, work_off
from apps.jobs import waiting
from apps.jobs.models import Job
from apps.releases.models import Release


@pytest.fixture
def one(connected, upstream):
    """A draft of a repository with two versions and another tag."""
    upstream.tag("v1.0.0")
    upstream.commit({"main.tf": "# second\n", "modules/dns/main.tf": "# dns\n"})
    upstream.tag("v1.1.0")
    upstream.tag("nightly")
    return f"/{connected['id']}/preview"


@pytest.mark.both
def test_it_is_started_and_found_afterwards_and_publishes_nothing(one, call, dora, alice):
    told = call(alice).get(one).json()
    assert (told["state"], told["at"], told["tags"], told["rules"]) == ("none", None, [], RULES)

    asked = call(dora).post(one)
    assert (asked.status_code, asked.json()["state"], asked.headers["Retry-After"]) == (202, "waiting", "2")
    work_off()

    told = call(alice).get(one).json()
    assert (told["state"], told["failure"]) == ("done", None)
    assert told["at"] is not None
    assert "" in [folder["folder"] for folder in told["folders"]]
    assert {(tag["tag"], tag["module"], tag["version"], tag["verdict"]) for tag in told["tags"]} == {
        ("v1.1.0", "vpc/aws", "1.1.0", "publish"),
        ("v1.0.0", "vpc/aws", "1.0.0", "publish"),
        ("nightly", "", "", "ignored"),
    }
    assert told["tags"][0]["tag"] == "v1.1.0"
    assert {"tag": "v{version}", "folder": "", "module": "vpc/aws"} in told["suggested"]
    assert not Release.objects.exists()
    assert not Tag.objects.exists()
    assert GitRepository.objects.get().started_at is None


def test_the_request_waits_for_the_worker_and_other_rules_are_previewed_without_being_saved(one, call, dora, waited):
    rules = [{"tag": "{version}", "folder": "modules/dns", "module": "dns/aws"}]
    answer = waited(one, rules=rules)

    assert (answer.status_code, answer.json()["state"], answer.json()["rules"]) == (200, "done", rules)
    assert len(answer.json()["tags"]) == 3
    assert {tag["verdict"] for tag in answer.json()["tags"]} == {"ignored"}
    assert call(dora).get(one).json()["rules"] == RULES


def test_it_waits_for_25_seconds_at_most(one, call, dora):
    environ = {waiting.OFFERED: True}
    client = call(dora).client
    before = time.monotonic()
    answer = client.post(f"/api/v1/namespaces/acme/repositories{one}", "{}", "application/json", **environ)

    asked = answer.wsgi_request.META[waiting.ASKED]
    assert 20 < asked.until - before < 26
    asked = waiting.Waiting(asked.states_of, asked.row, asked.states, time.monotonic() - 1, (asked.resume[0], 0.0))
    late = client.post(f"/api/v1/namespaces/acme/repositories{one}", **{waiting.OFFERED: True, waiting.ASKED: asked})
    assert (late.status_code, late.json()["state"]) == (202, "waiting")
    assert waiting.ASKED not in late.wsgi_request.META
    assert Job.objects.filter(kind="preview-git").count() == 1


def test_wrong_rules_are_refused_before_a_worker_is_asked(one, call, dora):
    answer = call(dora).post(one, rules=[{"tag": "v1", "module": "vpc/aws"}])

    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith("Rule 1: the tag pattern is 'v1', expected {version} once")
    assert not Job.objects.exists()
