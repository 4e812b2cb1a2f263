"""The plan that rules make of the tags that a preview saw."""

import pytest
from django.utils import timezone

from apps.contrib.git import previewing
from apps.contrib.git.models import Tag
from apps.contrib.git.remote import patterns
from apps.contrib.git.tests.hooks.sending import Hook, connected
from apps.releases.models import Release
from tests.rows import for_each_row

EVERY = [{"tag": "v{version}", "folder": "", "module": "vpc/aws"}]


@pytest.fixture
def previewed(acme):
    def made(*tags):
        repository = connected(acme, Hook("https://github.com/acme/vpc", "github", {}, b""))
        repository.preview = {
            "state": "done",
            "refs": [{"tag": tag, "commit": f"{n:040x}"} for n, tag in enumerate(tags)],
        }
        return repository

    return made


def verdicts(rows):
    return [(row["tag"], row["module"], row["version"], row["verdict"]) for row in rows]


def test_the_newest_version_comes_first_and_what_fits_no_rule_last(previewed):
    rows = previewing.planned(previewed("v1.0.0", "latest", "v1.10.0", "v1.9.0", "v1.10.0-rc.1"), EVERY)

    assert verdicts(rows) == [
        ("v1.10.0", "vpc/aws", "1.10.0", "publish"),
        ("v1.10.0-rc.1", "vpc/aws", "1.10.0-rc.1", "publish"),
        ("v1.9.0", "vpc/aws", "1.9.0", "publish"),
        ("v1.0.0", "vpc/aws", "1.0.0", "publish"),
        ("latest", "", "", "ignored"),
    ]
    assert rows[-1]["reason"] == "It does not match v{version}."
    assert rows[0]["commit"] == f"{2:040x}"


def test_a_tag_that_fits_several_rules_is_a_version_of_each_module(previewed):
    rules = [*EVERY, {"tag": "v{version}", "folder": "iam", "module": "iam/aws"}, *EVERY]

    rows = previewing.planned(previewed("v1.0.0"), rules)

    assert [(row["module"], row["folder"]) for row in rows] == [("iam/aws", "iam"), ("vpc/aws", "")]


def test_the_same_version_by_two_tags_is_refused_once(previewed):
    rules = [*EVERY, {"tag": "{version}", "folder": "", "module": "vpc/aws"}]

    rows = previewing.planned(previewed("1.0.0", "v1.0.0", "v1.0.0+build"), rules)

    assert sorted(row["verdict"] for row in rows) == ["publish", "refused", "refused"]
    assert "The tag 1.0.0 is this version of vpc/aws as well" in next(r["reason"] for r in rows if r["tag"] == "v1.0.0")


def test_the_name_of_the_tag_goes_into_folder_and_module_unless_it_is_none_of_a_module(previewed):
    rules = [{"tag": "{name}/v{version}", "folder": "modules/{name}", "module": "{name}/aws"}]

    bad, good = previewing.planned(previewed("s3-bucket/v1.0.0", "a__b/v1.0.0"), rules)

    assert (good["folder"], good["module"], good["version"]) == ("modules/s3-bucket", "s3-bucket/aws", "1.0.0")
    assert bad["verdict"] == "refused"
    assert "'__'" in bad["reason"]


def test_what_was_published_is_said_and_takes_its_version(previewed, published):
    repository = previewed("v1.2.0", "1.2.0")
    published("acme/vpc/aws", "1.2.0")
    Tag.objects.create(
        repository=repository,
        name="v1.2.0",
        module="vpc/aws",
        version="1.2.0",
        commit=f"{0:040x}",
        release=Release.objects.get(),
        seen_at=timezone.now(),
        changed_at=timezone.now(),
    )

    rows = previewing.planned(repository, [*EVERY, {"tag": "{version}", "folder": "", "module": "vpc/aws"}])

    assert {row["tag"]: row["verdict"] for row in rows} == {"v1.2.0": "published", "1.2.0": "refused"}


def test_its_own_rules_are_the_default_and_without_any_or_before_a_preview_nothing_is_planned(previewed):
    repository = previewed("v1.0.0")
    assert [row["reason"] for row in previewing.planned(repository, [])] == ["The repository has no rules."]

    repository.rules.create(position=0, tag="v{version}", folder="", module="own/aws")
    assert [row["module"] for row in previewing.planned(repository)] == ["own/aws"]
    repository.preview = {}
    assert previewing.planned(repository, EVERY) == []


def test_a_thousand_tags_are_planned_with_two_queries(previewed, django_assert_num_queries):
    tags = [f"module-{number % 20}/v{number // 400}.{number // 20 % 20}.0" for number in range(900)]
    repository = previewed(*tags, *(f"nightly-2026.{number}" for number in range(100)))
    rules = [{"tag": "{name}/v{version}", "folder": "modules/{name}", "module": "{name}/aws"}, *EVERY]

    with django_assert_num_queries(2):  # tags with releases, and versions that exist
        rows = previewing.planned(repository, rules)

    assert len(rows) == 1_000
    assert sum(row["verdict"] == "ignored" for row in rows) == 100


@for_each_row(
    ("tag", "says"),
    [
        ("v1.2", "Tag it v1.2.0."),
        ("vpc/v01.2.3", "Tag it vpc/v1.2.3."),
        ("v1.2.x", "Use three numbers"),
        ("V1.2.0", "It does not match v{version}, {name}/v{version}."),
        ("v1.2.0 ", "not a SemVer version"),
        ("v१.0.0", "does not match"),
    ],
)
def test_a_tag_that_is_ignored_says_what_would_fit(tag, says):
    assert says in patterns.why_not(["v{version}", "{name}/v{version}"], tag)
    assert "and 95 more" in patterns.why_not([f"m{number}/v{{version}}" for number in range(100)], "x")
