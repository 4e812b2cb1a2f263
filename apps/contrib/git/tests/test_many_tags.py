"""Thousands of tags: listed, judged and written with a number of queries that does not grow with them."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.contrib.git import listing_changes, rulebook, verdicts
from apps.contrib.git.models import Tag
from apps.contrib.git.remote.refs import Ref
from apps.contrib.git.tests.conftest import Git
from tests.rows import for_each_row

COUNT = 2_000


def refs(count: int = COUNT, commit: str = "1") -> list[Ref]:
    names = ("v{}.0.0", "vpc/v0.{}.0", "{}", "nightly-{}")
    return [Ref(names[number % 4].format(number), commit * 40) for number in range(count)]


def apply(git: Git, found: list[Ref]) -> tuple[listing_changes.Changes, int]:
    with CaptureQueriesContext(connection) as queries:
        changes = listing_changes.apply(git.repository, found, now=timezone.now())
    return changes, len(queries)


@pytest.fixture
def rules(git: Git) -> None:
    tags = [("v{version}", "vpc/aws"), ("{name}/v{version}", "{name}/aws"), ("release-{version}", "vpc/aws")]
    given = [{"tag": tag, "folder": "", "module": module} for tag, module in tags]
    rulebook.replace(git.repository, rulebook.checked(given))


@pytest.mark.slow
def test_thousands_of_tags_are_written_in_few_queries(git: Git, rules: None):
    changes, queries = apply(git, refs())
    assert changes.counts["new"] == COUNT
    assert queries < 80

    changes, queries = apply(git, refs())
    assert not any(changes.counts.values())
    assert queries < 10

    changes, _ = apply(git, refs(commit="2"))
    assert changes.counts["changed"] == COUNT

    apply(git, [])
    assert Tag.objects.count() == COUNT // 2


def test_lists_of_tags_cost_the_same_at_any_length(git: Git, rules: None, django_assert_num_queries):
    apply(git, refs(400))
    with django_assert_num_queries(1):
        shown = list(verdicts.tags_of(git.repository, verdict="waiting")[:50])
        assert len([verdicts.reason_of(tag) for tag in shown]) == 50
    with django_assert_num_queries(1):
        assert verdicts.counts([git.repository])[git.repository.pk] == {
            "waiting": 200, "published": 0, "ignored": 200, "refused": 0, "held": 0, "moved": 0, "gone": 0,
        }  # fmt: skip


@pytest.mark.both
def test_the_newest_version_comes_first_and_words_are_found(git: Git, rules: None):
    apply(git, [Ref(name, "1" * 40) for name in ("v1.10.0", "v1.9.0", "v2.0.0-rc.1", "v2.0.0", "nightly")])

    names = [tag.name for tag in verdicts.tags_of(git.repository)]
    assert names == ["v2.0.0", "v2.0.0-rc.1", "v1.10.0", "v1.9.0", "nightly"]
    assert [tag.name for tag in verdicts.tags_of(git.repository, q="1.9.0")] == ["v1.9.0"]
    assert [tag.name for tag in verdicts.tags_of(git.repository, q="NIGHT")] == ["nightly"]
    assert verdicts.tags_of(git.repository, q="11111111").count() == 5


@pytest.mark.both
@for_each_row(
    ("ref", "code"),
    [
        (Ref("v1.0.0\\xff", "1" * 40, is_text=False), "not_utf8"),
        (Ref("v" + "1" * 400, "1" * 40), "name_too_long"),
        (Ref("--upload-pack=x", "1" * 40), "no_match"),
        (Ref("v1.2", "1" * 40), "not_semver"),
        (Ref("v1.0.0-" + "a" * 200, "1" * 40), "not_semver"),
        (Ref(f"{'n' * 100}/v1.0.0", "1" * 40), "bad_address"),
        (Ref("modules/v1.0.0", "1" * 40), "bad_address"),
        (Ref("Eks/v1.0.0", "1" * 40), ""),
    ],
)
def test_a_strange_name_has_a_verdict(git: Git, rules: None, ref: Ref, code: str):
    apply(git, [ref])

    tag = verdicts.tags_of(git.repository).get()
    assert tag.code == code
    assert (tag.verdict == "waiting") is (code == "")
    assert len(tag.name) <= 300
