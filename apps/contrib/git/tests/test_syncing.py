import pytest

from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.git import connecting, syncing, tag_matching, tasks, verdicts
from apps.contrib.git.models import Tag
from apps.contrib.git.tests.conftest import Connect, Git, kinds, module, work_off
from apps.jobs.models import Job
from apps.lib.errors import Conflict
from apps.releases.models import Release, State
from tests.builders.git_servers import Repository, Site


def test_every_tag_has_a_verdict_and_a_reason_and_a_second_listing_changes_nothing(git: Git, upstream: Repository):
    for name in ("v1.0.0", "v1.2", "nightly", "vNext"):
        upstream.tag(name)

    assert git.sync() == {"v1.0.0": "published", "v1.2": "ignored", "nightly": "ignored", "vNext": "ignored"}
    assert "'1.2' is not a SemVer version" in git.reason("v1.2", "")
    assert git.reason("nightly", "") == "It does not match v{version}."
    assert verdicts.counts([git.repository])[git.repository.pk] == {
        "waiting": 0, "published": 1, "ignored": 3, "refused": 0, "held": 0, "moved": 0, "gone": 0,
    }  # fmt: skip

    before = list(Tag.objects.order_by("pk").values())
    git.sync()
    assert list(Tag.objects.order_by("pk").values()) == before
    assert Release.objects.count() == 1


@pytest.mark.slow
def test_rules_that_make_too_many_versions_fail_and_change_nothing(
    git: Git, upstream: Repository, monkeypatch: pytest.MonkeyPatch
):
    upstream.tag("v1.0.0")
    git.sync()
    monkeypatch.setattr(tag_matching, "MAX_VERSIONS", 1)
    upstream.tag("v1.1.0")

    assert git.sync() == {"v1.0.0": "published"}
    assert (git.repository.failure_code, git.repository.failures) == ("too_many_versions", 1)
    assert "The rules make more than 1 versions of the tags. Remove rules" in git.repository.failure
    monkeypatch.undo()
    assert git.sync() == {"v1.0.0": "published", "v1.1.0": "published"}


def test_a_draft_publishes_nothing(git: Git, upstream: Repository):
    upstream.tag("v1.0.0")

    syncing.listen(git.repository)
    tasks.poll_due()
    assert not Job.objects.exists()

    syncing.sync(repository=git.repository, actor=git.actor)
    assert git.sync([]) == {"v1.0.0": "published"}, "all stays all"


@pytest.mark.slow
def test_of_the_tags_that_are_there_only_those_that_were_selected_are_published(git: Git, upstream: Repository):
    for name in ("v1.0.0", "v1.1.0", "v2.0.0"):
        upstream.tag(name)

    assert git.sync(tags=["v2.0.0"]) == {"v1.0.0": "ignored", "v1.1.0": "ignored", "v2.0.0": "published"}
    assert "not selected" in git.reason("v1.0.0")
    upstream.commit(module("second"))
    upstream.tag("v2.1.0")
    assert git.sync()["v2.1.0"] == "published"
    assert git.sync(tags=["v1.1.0"]) == {
        "v1.0.0": "ignored", "v1.1.0": "published", "v2.0.0": "published", "v2.1.0": "published",
    }  # fmt: skip
    assert git.retry("v1.0.0")["v1.0.0"] == "published"


def test_a_tag_that_moves_raises_an_alarm_and_changes_no_release(git: Git, upstream: Repository):
    first = upstream.head
    upstream.tag("v1.0.0")
    git.sync()
    digest = Release.objects.get().digest
    second = upstream.commit(module("second"))
    upstream.tag("v1.0.0")

    assert git.sync() == {"v1.0.0": "moved"}
    assert first in git.reason("v1.0.0")
    assert second in git.reason("v1.0.0")
    assert Release.objects.get().digest == digest
    event = AuditEvent.objects.get(kind=Kind.GIT_TAG_MOVED)
    assert event.subject == "acme/vpc/aws 1.0.0"
    assert event.detail["known"] == first
    assert event.detail["found"] == second
    git.sync()
    assert kinds().count(Kind.GIT_TAG_MOVED) == 1
    with pytest.raises(Conflict, match="is moved"):
        git.retry("v1.0.0")
    upstream.tag("v1.0.0", first)
    assert git.sync() == {"v1.0.0": "published"}


def test_a_tag_that_is_deleted_raises_an_alarm_and_changes_no_release(git: Git, upstream: Repository):
    upstream.tag("v1.0.0")
    git.sync()
    upstream.delete_tag("v1.0.0")

    assert git.sync() == {"v1.0.0": "gone"}
    assert upstream.head in git.reason("v1.0.0")
    assert Release.objects.get().state == State.PUBLISHED
    git.sync()
    assert kinds().count(Kind.GIT_TAG_DELETED) == 1


@pytest.mark.slow
def test_a_history_that_was_rewritten_is_a_few_alarms(git: Git, upstream: Repository, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("apps.contrib.git.listing_changes.MAX_ALARMS", 1)
    names = [f"v1.0.{number}" for number in range(3)]
    for name in names:
        upstream.tag(name)
    git.sync()
    upstream.commit(module("rewritten"))
    for name in names:
        upstream.tag(name)

    assert set(git.sync().values()) == {"moved"}
    told = AuditEvent.objects.filter(kind=Kind.GIT_TAG_MOVED).order_by("pk")
    assert [len(event.detail.get("tags", [])) for event in told] == [0, 2]


@pytest.mark.slow
def test_one_tag_of_a_monorepo_is_a_version_of_several_modules(connect: Connect, site: Site):
    repository = site.repository("acme/mono")
    repository.commit({f"modules/{name}/main.tf": f"# {name}\n" for name in ("vpc", "eks", "rds")})
    repository.tag("vpc-1.0.0")
    repository.tag("eks-2.0.0")
    repository.tag("v9.0.0")
    rules = [
        {"tag": "{name}-{version}", "folder": "modules/{name}", "module": "{name}/aws"},
        {"tag": "v{version}", "folder": "modules/rds", "module": "rds/aws"},
        {"tag": "v{version}", "folder": "modules/eks", "module": "eks/aws"},
    ]
    git = connect("acme/mono", rules=rules)
    git.sync()

    assert set(Release.objects.filter(state=State.PUBLISHED).values_list("name", "version")) == {
        ("vpc/aws", "1.0.0"),
        ("eks/aws", "2.0.0"),
        ("rds/aws", "9.0.0"),
        ("eks/aws", "9.0.0"),
    }


@pytest.mark.slow
def test_new_rules_judge_tags_again_that_have_no_release(git: Git, upstream: Repository):
    upstream.tag("v1.0.0")
    upstream.tag("vpc-2.0.0")
    assert git.sync() == {"v1.0.0": "published", "vpc-2.0.0": "ignored"}

    connecting.change(
        repository=git.repository,
        actor=git.actor,
        rules=[{"tag": "vpc-{version}", "folder": "", "module": "vpc/aws"}],
    )
    work_off()

    assert git.shown == {"v1.0.0": "published", "vpc-2.0.0": "published"}
    assert Tag.objects.count() == 2
