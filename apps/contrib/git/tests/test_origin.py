"""The origin of a release that was fetched from Git, on pages, in the API and the statement."""

import json
from typing import Any

import pytest

from apps.contrib.git import forges
from apps.contrib.git.tests.conftest import Git, module
from apps.provenance import differences, origin, predicates
from apps.releases.models import Release
from tests.builders.git_servers import Repository
from tests.cast import Publish

PAGE = "https://git.acme.example/acme/terraform-aws-vpc"


@pytest.fixture
def release(git: Git, upstream: Repository, monkeypatch: pytest.MonkeyPatch) -> Release:
    """A release from a forge with pages."""
    monkeypatch.setattr(forges, "page_of", lambda *_: PAGE)
    monkeypatch.setattr(forges, "commit_page", lambda _forge, _remote, commit: f"{PAGE}/commit/{commit}")
    monkeypatch.setattr(forges, "tag_page", lambda _forge, _remote, tag: f"{PAGE}/tag/{tag}")
    upstream.tag("v1.0.0", message="First")
    git.sync()
    return Release.objects.get(version="1.0.0", name="vpc/aws")


def test_the_origin_page_and_the_api_name_the_commit(release: Release, browser_of: Any, tofu: Any, bob: Any):
    commit = release.origin.facts["commit"]
    page = browser_of(bob).get("/modules/acme/vpc/aws/1.0.0/origin").text
    assert "Fetched from Git" in page
    assert f'href="{PAGE}/commit/{commit}"' in page
    assert f'href="{PAGE}/tag/v1.0.0"' in page
    assert "Tagged by" in page
    assert "No commit" not in page

    document = json.dumps(tofu(bob).get("/api/v1/modules/acme/vpc/aws/1.0.0/origin").json())
    assert '"git"' in document
    assert commit in document


def test_the_statement_names_the_commit_that_larder_read_and_no_person(release: Release):
    statement = predicates.statement(release, [], release.origin, None)

    [commit] = [one for one in statement["predicate"]["buildDefinition"]["resolvedDependencies"] if "uri" in one]
    assert commit["digest"] == {"gitCommit": release.origin.facts["commit"]}
    assert commit["uri"].startswith("git+https://localhost:")
    assert commit["uri"].endswith("/acme/terraform-aws-vpc.git@refs/tags/v1.0.0")
    assert '"strength": "git"' in json.dumps(statement)
    assert "Alice" not in json.dumps(statement)


def test_one_line_says_where_it_comes_from_and_a_release_beside_git_is_a_difference(
    release: Release, published: Publish
):
    line = origin.line_of(release)
    assert line.startswith("published from Git: from localhost")
    assert line.endswith("(fetched by Larder)")

    found = origin.of(published("acme/vpc/aws", "1.1.0"))
    assert differences.of(found, with_people=False)[0].sentence.startswith("1.0.0 was fetched from Git")


def test_the_approver_reads_the_commit(git: Git, upstream: Repository, browser_of: Any, alice: Any):
    git.repository.namespace.requires_approval = True
    git.repository.namespace.save()
    upstream.commit(module("waits"))
    upstream.tag("v1.0.0")
    git.sync()
    release = Release.objects.get()

    page = browser_of(alice).get(f"/releases/{release.public_id}").text
    assert "Larder fetched it from Git" in page
    assert upstream.head in page
    assert "Nothing tells which commit" not in page
