"""The job that looks at a repository: a real Git server on loopback, and what it may do wrong."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Role
from apps.contrib.git import module_folders, previewing, scanning, tasks
from apps.contrib.git.tests.hooks.sending import Hook, connected
from apps.jobs.models import Job
from apps.lib.settings_values.outgoing import Outgoing
from tests.builders.git_servers import File, link, submodule

pytestmark = pytest.mark.django_db

AWS = 'terraform {\n  required_providers {\n    aws = {\n      source = "hashicorp/aws"\n    }\n  }\n}\n'
RULE = {"tag": "{name}/v{version}", "folder": "modules/{name}", "module": "{name}/aws"}


@pytest.fixture
def repository(site, acme):
    made = connected(acme, Hook(site.url_of("acme/infrastructure"), "git", {}, b""))
    Grant.objects.create(namespace=acme, user=made.user, role=Role.PUBLISHER)
    return made


@pytest.fixture
def git(site):
    return site.repository("acme/infrastructure")


def preview(repository, actor):
    previewing.ask(repository=repository, actor=Viewer(actor))
    assert repository.preview["state"] == "waiting"
    assert tasks.run_here(Job.objects.get(kind=previewing.JOB, state="queued").pk)
    repository.refresh_from_db()
    return repository.preview


@pytest.mark.both
def test_an_empty_repository_has_nothing_to_suggest_and_a_monorepo_is_seen_and_planned(repository, git, alice):
    found = preview(repository, alice)
    assert (found["state"], found["folders"], found["suggested"], found["refs"]) == ("done", [], [], [])

    names = [f"m{number}" for number in range(20)]
    with git.batch() as batch:
        batch.commit({f"modules/{name}/main.tf": AWS for name in names} | {"README.md": "x"})
        for name in names:
            for minor in range(15):
                batch.tag(f"{name}/v1.{minor}.0", message="Release" if minor % 2 else "")

    found = preview(repository, alice)

    assert found["state"] == "done"
    assert found["failure"] is None
    assert len(found["folders"]) == 20
    assert found["folders"][0] == {"folder": "modules/m0", "files": 1, "module": "m0/aws", "is_submodule": False}
    assert found["suggested"] == [RULE]
    assert len(found["refs"]) == 300
    assert {ref["commit"] for ref in found["refs"]} == {git.head}
    rows = previewing.planned(repository, found["suggested"])
    assert [row["verdict"] for row in rows] == ["publish"] * 300
    assert repository.previewed_at is not None


def tags_of(git, *commits):
    """Make a commit of each set of files, with a tag."""
    for tag, files in commits:
        git.commit(files)
        if tag:
            git.tag(tag)


@pytest.mark.both
@pytest.mark.parametrize(
    ("commits", "rules"),
    [
        # A branch that was reorganised, and released nothing of it yet.
        (
            [("v1.0.0", {"modules/vpc/main.tf": AWS, "modules/dns/main.tf": AWS}), ("", {"aws/vpc/main.tf": AWS})],
            [("v{version}", "modules/dns", "dns/aws"), ("v{version}", "modules/vpc", "vpc/aws")],
        ),
        # Each module has its own tags, and no commit all modules.
        (
            [
                ("vpc/v2.0.0", {"modules/vpc/main.tf": AWS}),
                ("dns/v1.0.0", {"modules/dns/main.tf": AWS}),
                ("", {"x": ""}),
            ],
            [("{name}/v{version}", "modules/{name}", "{name}/aws")],
        ),
        # No tag is a version: the branch shows what is usual.
        ([("nightly", {"main.tf": AWS})], [("v{version}", "", "infrastructure/aws")]),
    ],
)
def test_suggested_folders_are_those_of_tags_and_not_of_the_branch(repository, git, alice, commits, rules):
    tags_of(git, *commits)

    found = preview(repository, alice)

    assert [tuple(rule.values()) for rule in found["suggested"]] == rules


def test_folders_that_are_left_off_are_counted(repository, git, alice, monkeypatch):
    monkeypatch.setattr(module_folders, "MAX_FOLDERS", 7)
    git.commit({f"modules/m{number}/main.tf": AWS for number in range(12)})
    git.tag("v1.0.0")

    found = preview(repository, alice)

    assert (len(found["folders"]), found["more_folders"]) == (7, 5)


@pytest.mark.both
def test_links_and_submodules_and_tags_in_other_bytes_are_passed_over(repository, git, alice):
    git.commit(
        {"vpc/main.tf": AWS, "a/main.tf": link("../vpc/main.tf"), "b": submodule("1" * 40), "b.tf": File("", "100755")}
    )
    git.tag("v1.0.0")
    git.tag("v1.0.\udcff")

    found = preview(repository, alice)

    assert [folder["folder"] for folder in found["folders"]] == ["", "vpc"]
    assert [ref["tag"] for ref in found["refs"]] == ["v1.0.0"]
    assert found["unreadable"] == 1


def test_a_server_that_is_down_or_private_fails_the_preview_and_the_next_one_succeeds(
    repository, git, site, settings, alice
):
    git.commit({"main.tf": AWS})
    settings.SOURCES = Outgoing(ca_file=site.ca_file)
    assert preview(repository, alice)["state"] == "failed"
    assert site.requests == []

    settings.SOURCES, site.is_down = site.settings, True
    found = preview(repository, alice)
    assert found["state"] == "failed"
    assert found["failure"]["code"]
    assert found["failure"]["text"]
    site.is_down = False
    assert preview(repository, alice)["state"] == "done"


@pytest.mark.both
def test_two_people_who_ask_at_once_are_answered_once_and_a_worker_that_dies_each_time_leaves_a_failure(
    repository, git, alice, bob, settings
):
    for person in (alice, bob):
        previewing.ask(repository=repository, actor=Viewer(person))
    job = Job.objects.get(kind=previewing.JOB)
    assert repository.preview["state"] == "waiting"

    Job.objects.update(attempts=settings.JOB_ATTEMPTS)
    tasks.run_here(job.pk)
    repository.refresh_from_db()
    assert repository.preview["state"] == "failed"
    assert repository.preview["failure"]["code"] == "interrupted"


def test_more_rules_than_people_read_are_counted_and_what_the_archive_leaves_out_has_unknown_providers(
    repository, git, alice, monkeypatch
):
    monkeypatch.setattr(scanning, "MAX_SUGGESTED", 5)
    files = {f"modules/m{number}/main.tf": AWS for number in range(12)}
    with git.batch() as batch:
        batch.commit(files | {".gitattributes": "modules/m3 export-ignore\n"})
        batch.tag("v1.0.0")

    found = preview(repository, alice)

    assert (len(found["suggested"]), found["left_off"]) == (5, 7)
    assert (len(found["folders"]), found["more_folders"]) == (12, 0)
    assert {folder["module"] for folder in found["folders"] if folder["folder"] == "modules/m3"} == {"m3/generic"}
