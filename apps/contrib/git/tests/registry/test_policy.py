"""Policy and cool-down decide which versions of another registry's module are published, and when."""

import pytest

from apps.contrib.git import previewing, syncing, tasks
from apps.contrib.git.models import Tag
from apps.contrib.git.tests.conftest import Git, module, work_off
from apps.contrib.git.tests.registry.conftest import Upstream, days_ago, listed_again, made_older, published, rule
from apps.jobs.models import Job
from apps.lib.errors import Conflict
from apps.releases.models import Release
from tests.builders.catalogue import Module
from tests.builders.git_servers import Repository
from tests.builders.misbehaving import Registry
from tests.rows import for_each_row


@pytest.fixture
def newest(code: Repository, listed: Module) -> str:
    """Published upstream after the module was first listed."""
    code.commit(module("third"))
    code.tag("v1.2.0")
    return "1.2.0"


def test_a_denied_version_is_ignored_with_the_rule_as_reason(mirrored: Git, other):
    rule(other, "deny", versions=">= 1.1.0", reason="It is broken")

    assert mirrored.sync() == {"1.0.0": "published", "1.1.0": "ignored"}
    assert mirrored.tag("1.1.0").code == "policy"
    reason = mirrored.reason("1.1.0")
    assert reason.startswith("registry.other.example/acme/vpc/aws 1.1.0 is refused by rule 1: deny acme/vpc >= 1.1.0")
    assert "It is broken" in reason


@pytest.mark.slow
def test_a_rule_that_ends_has_the_version_published_at_the_next_poll_and_a_later_one_takes_no_release_back(
    mirrored: Git, other
):
    found = rule(other, "deny", "*/vpc")
    assert mirrored.sync() == {"1.0.0": "ignored", "1.1.0": "ignored"}
    found.delete()
    assert listed_again(mirrored) == {"1.0.0": "published", "1.1.0": "published"}

    rule(other, "deny")
    assert listed_again(mirrored) == {"1.0.0": "published", "1.1.0": "published"}


@pytest.mark.slow
def test_what_the_first_list_has_is_old_and_other_versions_cool_down_from_their_date_or_when_they_were_seen(
    mirrored: Git, other, listed: Module, newest: str
):
    other.cooldown_days = 3
    other.save()
    listed.more = {"1.1.0": {"published_at": days_ago(1)}}
    assert mirrored.sync() == {"1.0.0": "published", "1.1.0": "waiting"}
    assert "it was published on" in mirrored.reason("1.1.0")
    listed.more["1.1.0"] = {"published_at": days_ago(0)}  # the earliest counts
    listed.versions.append(newest)

    assert listed_again(mirrored) == {"1.0.0": "published", "1.1.0": "waiting", newest: "waiting"}
    tag = mirrored.tag(newest)
    assert (tag.code, tag.release) == ("cooling_down", None)
    assert "1.2.0 is held back until" in tag.reason
    assert "it was first seen on" in tag.reason
    made_older(2)
    assert listed_again(mirrored) == {"1.0.0": "published", "1.1.0": "published", newest: "waiting"}
    made_older(2)
    assert listed_again(mirrored)[newest] == "published"


def test_a_retry_does_not_pass_the_cool_down(mirrored: Git, other, listed: Module, registry: Registry):
    other.cooldown_days = 3
    other.save()
    listed.more = {"1.1.0": {"published_at": days_ago(1)}}
    mirrored.sync()

    assert mirrored.retry("1.1.0")["1.1.0"] == "waiting"
    assert mirrored.tag("1.1.0").code == "cooling_down"
    assert registry.count(listed.download_path("1.1.0")) == 0
    assert list(published()) == ["1.0.0"]


def test_a_rule_between_listing_and_fetching_counts(mirrored: Git, other):
    syncing.sync(repository=mirrored.repository, actor=mirrored.actor)
    tasks.run_here(Job.objects.get(kind=syncing.JOB).pk)
    rule(other, "deny")
    work_off()

    assert mirrored.shown == {"1.0.0": "ignored", "1.1.0": "ignored"}
    assert not Release.objects.exists()


def test_rules_for_signed_providers_refuse_modules_and_those_for_platforms_and_advisories_do_not(mirrored: Git, other):
    rule(other, "deny", platforms=["linux_amd64"])
    rule(other, "deny", advisories_only=True)
    assert mirrored.sync(["1.0.0"]) == {"1.0.0": "published", "1.1.0": "ignored"}

    rule(other, "signed_only")
    assert mirrored.retry("1.1.0")["1.1.0"] == "ignored"
    assert "names no key" in mirrored.reason("1.1.0")


def test_the_preview_looks_into_the_newest_version_where_the_registry_says_that_it_is(
    mirrored: Git, listed: Module, code: Repository
):
    assert previewed(mirrored) == {"1.1.0": ("publish", "", True), "1.0.0": ("publish", "", False)}

    listed.locations["1.1.0"] = listed.location.replace("v{version}", "main")
    assert previewed(mirrored)["1.1.0"] == ("refused", "not_pinned", True)
    listed.locations["1.1.0"] = listed.location.format(version="1.1.0").replace("?", "//modules/none?")
    assert previewed(mirrored)["1.1.0"] == ("refused", "folder_missing", True)
    assert not Tag.objects.exists()


def previewed(git: Git) -> dict[str, tuple[str, str, bool]]:
    previewing.ask(repository=git.repository, actor=git.actor)
    work_off()
    git.repository.refresh_from_db()
    rows = previewing.planned(git.repository)
    return {row["tag"]: (row["verdict"], row["code"], row["is_checked"]) for row in rows}


@for_each_row("column", ["is_sealed", "terraform_only"])
def test_a_registry_that_was_sealed_or_is_for_terraform_alone_is_not_asked(
    column: str, mirrored: Git, other, registry: Registry, connect_module
):
    Upstream.objects.update(**{column: True})
    mirrored.sync()

    assert mirrored.repository.failure_code == "upstream_off"
    assert registry.requests == []
    with pytest.raises(Conflict, match=r"offline mode|Terraform alone"):
        connect_module("registry.other.example/acme/dns/aws")
