"""OSV files of operators: which versions they name, and that a broken one is never taken for none."""

import os
from dataclasses import replace

import pytest

from apps.contrib.mirror.policy import advisories
from apps.contrib.mirror.policy.evaluation import decide
from apps.contrib.mirror.tests.policy_rows import (
    LONG_AGO,
    NOW,
    osv,
    place,
    provider,
    rule,
    save,
    upstream,
    version,
    visible,
)
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
EVERY = ("2.0.0", "1.5.0", "1.4.9", "1.0.0", "0.9.0")


@pytest.fixture
def folder(tmp_path, settings):
    settings.UPSTREAM = replace(settings.UPSTREAM, advisories=str(tmp_path))
    yield tmp_path
    advisories.folder.forget()


@pytest.fixture
def random():
    of = upstream()
    save(of, rule("deny", advisories_only=True))
    found = provider(of)
    for text in EVERY:
        version(found, text, published_at=LONG_AGO)
    return found


def test_without_a_folder_or_by_a_withdrawn_advisory_no_version_is_named(random, folder, settings):
    place(folder, osv() | {"withdrawn": "2026-11-01T00:00:00Z"})
    for place_of_files in (str(folder), ""):
        settings.UPSTREAM = replace(settings.UPSTREAM, advisories=place_of_files)

        assert visible(random) == list(EVERY)
        assert advisories.problems() == []


def test_a_named_version_is_hidden_and_the_sentence_names_the_advisory(random, folder):
    place(folder, osv())

    assert visible(random) == ["2.0.0", "1.5.0", "0.9.0"]
    named = random.versions.get(version="1.4.9")
    assert decide(named, now=NOW).sentence == (
        "registry.opentofu.org/hashicorp/random 1.4.9 is refused by rule 1: deny * with an advisory; "
        "named by ACME-2026-1."
    )


@for_each_row(
    ("name", "hides"),
    [
        ("hashicorp/random", True),
        ("HashiCorp/Random", True),
        ("registry.opentofu.org/hashicorp/random", True),
        ("registry.terraform.io/hashicorp/random", False),
        ("hashicorp/aws", False),
    ],
)
def test_a_name_is_for_one_host_or_for_all(random, folder, name, hides):
    place(folder, osv(name))

    assert ("1.0.0" not in visible(random)) == hides
    assert advisories.problems() == []


@for_each_row(
    ("events", "hidden"),
    [
        ([{"introduced": "0"}], list(EVERY)),
        ([{"introduced": "0"}, {"fixed": "1.0.0"}], ["0.9.0"]),
        ([{"introduced": "1.0.0"}, {"last_affected": "1.5.0"}], ["1.5.0", "1.4.9", "1.0.0"]),
        ([{"fixed": "1.5.0"}, {"introduced": "1.0.0"}], ["1.4.9", "1.0.0"]),
        ([{"introduced": "0"}, {"fixed": "1.0.0"}, {"introduced": "1.5.0"}], ["2.0.0", "1.5.0", "0.9.0"]),
        ([{"introduced": "0"}, {"limit": "1.0.0"}], ["0.9.0"]),
        ([{"introduced": "0"}, {"limit": "*"}], list(EVERY)),
    ],
)
def test_ranges_are_read_as_osv_defines_them(random, folder, events, hidden):
    place(folder, osv(ranges=[{"type": "SEMVER", "events": events}]))

    assert [text for text in EVERY if text not in visible(random)] == hidden


def test_versions_are_named_one_by_one_as_well(random, folder):
    place(folder, osv(ranges=[], versions=["2.0.0+build.7", "v0.9.0"]))

    assert visible(random) == ["1.5.0", "1.4.9", "1.0.0"]


BROKEN = {
    "no JSON": ("{", "is not JSON"),
    "a list": ([], "found list, expected one OSV object"),
    "no id": ({"affected": []}, "has no id"),
    "nothing affected": ({"id": "A-1"}, "has no list `affected`"),
    "another ecosystem": (osv(package={"ecosystem": "npm", "name": "random"}), "names no provider"),
    "no package": (osv(package=None), "without `package`"),
    "a name alone": (osv("random"), "expected namespace/type or host/namespace/type"),
    "a name of four parts": (osv("a/b/c/d"), "expected namespace/type or host/namespace/type"),
    "no versions": (osv(ranges=[]), "names no versions"),
    "commits": (osv(ranges=[{"type": "GIT", "events": []}]), "names no versions"),
    "a version that is none": (osv(ranges=[], versions=["latest"]), "found version 'latest'"),
    "a number": (osv(ranges=[], versions=[1.5]), "expected a version as text"),
    "versions as text": (osv(ranges=[], versions="1.0.0"), "`versions` that is not a list"),
    "an unknown event": (
        osv(ranges=[{"type": "SEMVER", "events": [{"begun": "1.0.0"}]}]),
        "expected one of introduced",
    ),
    "no beginning": (osv(ranges=[{"type": "SEMVER", "events": [{"fixed": "1.0.0"}]}]), "without `introduced`"),
    "ranges of text": (osv(ranges=["1.0.0"]), "`ranges` that is not a list of objects"),
    "deep": ("[" * 100_000, "is not JSON"),
    "large": (" " * (1024 * 1024 + 1), "has more than 1048576 bytes"),
}


@for_each_row("name", BROKEN)
def test_a_broken_file_is_a_problem_and_the_others_count(random, folder, name):
    document, says = BROKEN[name]
    place(folder, document, "broken.json")
    place(folder, osv())

    assert "1.0.0" not in visible(random)
    (problem,) = advisories.problems()
    assert problem.file == "broken.json"
    assert says in problem.message


def test_what_is_no_file_and_more_files_than_the_limit_are_problems_and_hold_up_nobody(folder, monkeypatch):
    os.mkfifo(folder / "pipe.json")
    (folder / "nowhere.json").symlink_to(folder / "absent")
    assert {one.file for one in advisories.problems()} == {"pipe.json", "nowhere.json"}

    monkeypatch.setattr(advisories, "MAX_FILES", 2)
    place(folder, osv())
    assert "Found 3 files, expected at most 2" in advisories.problems()[0].message


def test_a_file_that_breaks_keeps_its_last_word(random, folder):
    path = place(folder, osv())
    assert "1.0.0" not in visible(random)

    place(folder, '{"id": "half')
    assert "1.0.0" not in visible(random)
    assert [one.file for one in advisories.problems()] == ["acme.json"]

    path.unlink()
    folder.rmdir()
    advisories.folder._looked = 0.0
    assert "1.0.0" not in visible(random)
    assert "The folder cannot be read" in advisories.problems()[0].message


def test_changed_removed_and_new_files_count_without_a_restart(random, folder, monkeypatch):
    path = place(folder, osv())
    assert visible(random) == ["2.0.0", "1.5.0", "0.9.0"]

    place(folder, osv(ranges=[], versions=["2.0.0"]))
    assert visible(random) == ["1.5.0", "1.4.9", "1.0.0", "0.9.0"]

    path.unlink()
    place(folder, osv(ranges=[], versions=["0.9.0"]), "other.json")
    assert visible(random) == ["2.0.0", "1.5.0", "1.4.9", "1.0.0"]

    advisories.folder._looked = 0.0
    monkeypatch.setattr(advisories, "_document", None)
    assert visible(random) == ["2.0.0", "1.5.0", "1.4.9", "1.0.0"], "what is unchanged is not read again"
