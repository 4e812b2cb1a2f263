"""The lines of doctor and /metrics about publishing from Git. No Git server is asked for it."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.contrib.git import connecting, monitoring
from apps.contrib.git.models import GitRepository
from apps.jobs.models import Job
from registry_site.operations import doctor
from registry_site.server import probes as parts
from registry_site.server.forwarded import DIRECT_PEER
from tests.builders import alerting
from tests.sessions import in_browser

URL = "https://git.example.com/acme/vpc"


@pytest.fixture
def repository(acme, dora):
    rules = [{"tag": "v{version}", "folder": "", "module": "vpc/aws"}]
    return connecting.connect(namespace=acme, actor=in_browser(dora), url=URL, rules=rules).repository


def programs(folder, **texts):
    """Programs that say these texts, and no others."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(f"#!/bin/sh\necho '{text}'\n")
        (folder / name).chmod(0o755)
    return str(folder)


def metrics():
    return {
        (sample.name, *sample.labels.values()): sample.value for one in monitoring.families() for sample in one.samples
    }


def test_git_and_ssh_of_this_host_are_good_enough_and_without_a_repository_there_are_no_metrics(db):
    [(state, found, hint)] = monitoring.programs()
    assert (state, found[:12], hint) == ("ok", "git version ", "")
    assert metrics() == {}


def test_an_old_git_fails_once_a_repository_is_connected(repository, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", programs(tmp_path / "bin", git="git version 2.34.1", ssh=""))
    [(state, found, hint)] = monitoring.programs()
    assert (state, found) == ("fail", "git version 2.34.1, expected 2.37 or later")
    assert hint.startswith("Install git 2.37 or later")

    monkeypatch.setenv("PATH", programs(tmp_path / "empty"))
    [(state, found, _)] = monitoring.programs()
    assert (state, found) == ("fail", "not installed: git and ssh; nothing is published from Git")


def test_a_missing_program_is_a_warning_until_a_repository_is_connected(db, monkeypatch, tmp_path, settings):
    for name, there, lacking in (("one", {"git": "git version 2.39.5"}, "ssh"), ("two", {"ssh": ""}, "git")):
        monkeypatch.setenv("PATH", programs(tmp_path / name, **there))
        [(state, found, _)] = monitoring.programs()
        assert (state, f"not installed: {lacking};" in found) == ("warn", True)

    settings.WORKER_QUEUES = ["check", "notify"]
    assert [state for state, _, _ in monitoring.programs()] == ["ok"], "of a host whose workers do not fetch"


def test_a_repository_that_cannot_be_read_is_named_with_its_code(repository):
    assert list(monitoring.repositories()) == [("ok", "1 connected, none fails", "")]
    GitRepository.objects.update(started_at=timezone.now(), failed_at=timezone.now(), failure_code="unauthorized")

    [(state, found, hint)] = monitoring.repositories()
    assert (state, found) == ("warn", f"1 cannot be read: {URL} of acme (unauthorized)")
    assert hint == "docs/git.md, Codes of a repository that fails."
    assert "git repositories" in doctor.LOOKS


def test_metrics_count_repositories_by_state_and_tell_how_long_jobs_wait(repository, db):
    assert metrics()["larder_git_repositories", "draft"] == 1
    GitRepository.objects.update(started_at=timezone.now())
    Job.objects.create(kind="list-git-tags", target=repository.pk)
    Job.objects.update(created_at=timezone.now() - timedelta(seconds=90))

    found = metrics()
    assert (found["larder_git_repositories", "active"], found["larder_git_repositories", "draft"]) == (1, 0)
    assert 90 <= found["larder_git_oldest_job_seconds",] < 120


# --- The status page and alerts ---------------------------------------------------------------------------------------


@pytest.fixture
def asked(repository, monkeypatch):
    """`asked(path)`: what a program on this machine gets of a Larder whose parts are up."""
    monkeypatch.setattr(parts.checks, "states", lambda: dict.fromkeys(parts.PARTS, "ok"))
    client = Client(headers={"Accept": "application/json"})
    client.defaults[DIRECT_PEER] = "127.0.0.1"
    return client.get


def wait_for(repository, **time):
    Job.objects.create(kind="list-git-tags", target=repository.pk)
    Job.objects.update(created_at=timezone.now() - timedelta(**time))


def test_the_status_page_says_that_tags_wait_and_nothing_of_a_repository_that_fails(asked, repository):
    GitRepository.objects.update(started_at=timezone.now(), failed_at=timezone.now(), failure_code="unauthorized")
    wait_for(repository, minutes=9)
    assert asked("/status").json()["parts"]["git"] == "up"

    Job.objects.update(created_at=timezone.now() - timedelta(minutes=11))
    found = asked("/status")
    assert (found.status_code, found.json()["status"], found.json()["parts"]["git"]) == (200, "degraded", "down")
    page = Client().get("/status").text
    assert "New tags wait." in page
    assert "git.example.com" not in page

    GitRepository.objects.update(ended_at=timezone.now())
    assert "git" not in asked("/status").json()["parts"], "no repository is connected"


def firing(tmp_path, document):
    names = [name for name in alerting.rules() if "LarderGit" in name]
    return alerting.firing({"web-0": document}, names, folder=tmp_path)


@pytest.mark.needs("promtool")
def test_each_trouble_of_publishing_from_git_has_its_alert(asked, repository, tmp_path):
    GitRepository.objects.update(started_at=timezone.now())
    assert firing(tmp_path, asked("/metrics").text) == set()

    wait_for(repository, minutes=11)
    GitRepository.objects.update(failed_at=timezone.now())
    assert firing(tmp_path, asked("/metrics").text) == {"LarderGitJobsWait", "LarderGitRepositoriesFail"}


def test_operate_begins_with_a_repository_that_fails(browser_of, olga, repository):
    now = timezone.now()
    GitRepository.objects.update(failed_at=now, failing_since=now, failure="The host key changed.")
    [found] = [line for line in browser_of(olga).get("/admin/").context["needs"] if line.title == str(repository)]

    assert found.tone == "bad"
    assert found.text.startswith("Of acme, since ")
    assert found.text.endswith("The host key changed.")
    assert f'value="disconnect:{repository.pk}"' in found.acts
    assert list(monitoring.failing()) == [repository]
