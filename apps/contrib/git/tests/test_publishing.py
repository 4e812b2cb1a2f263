from typing import Any

import pytest

from apps.accounts.models import User
from apps.audit.kinds import Kind
from apps.contrib.git import connecting
from apps.contrib.git.tests.conftest import RULES, Connect, Git, kinds, module, work_off
from apps.modules import answers
from apps.modules import publishing as module_publishing
from apps.releases.models import Release, State
from apps.releases.publishing import approving
from tests.builders.git_servers import Repository, Site, lfs_pointer, submodule
from tests.sessions import in_browser


def test_a_tag_becomes_a_release_with_its_origin(git: Git, upstream: Repository):
    upstream.tag("v1.0.0", message="First")

    assert git.sync() == {"v1.0.0": "published"}
    release = Release.objects.get(name="vpc/aws", version="1.0.0")
    assert release.state == State.PUBLISHED
    assert release.created_by == git.repository.user
    assert release.origin.way == "git"
    assert release.origin.facts == {
        "repository": f"localhost:{git.repository.url.split(':')[2].split('/')[0]}/acme/terraform-aws-vpc",
        "url": git.repository.url,
        "commit": upstream.head,
        "ref": "refs/tags/v1.0.0",
        "tagger": "Alice",
        "signature": "none",
    }
    assert git.reason("v1.0.0") == "Published as acme/vpc/aws 1.0.0."
    assert git.tag("v1.0.0").published_commit == upstream.head


@pytest.mark.slow
def test_a_refused_tag_is_tried_again_when_it_moves_or_somebody_asks(connect: Connect, site: Site):
    repository = site.repository("acme/vpc")
    repository.commit({"README.md": "# Nothing here yet\n"})
    repository.tag("v1.0.0")
    git = connect("acme/vpc")
    assert git.sync() == {"v1.0.0": "refused"}
    assert "no .tf or .tofu file" in git.reason("v1.0.0")
    assert git.sync() == {"v1.0.0": "refused"}
    assert kinds().count(Kind.GIT_TAG_REFUSED) == 1
    assert git.retry("v1.0.0") == {"v1.0.0": "refused"}
    assert kinds().count(Kind.GIT_TAG_REFUSED) == 2

    repository.commit(module())
    repository.tag("v1.0.0")

    assert git.sync() == {"v1.0.0": "published"}
    assert Kind.GIT_TAG_MOVED not in kinds()


@pytest.mark.slow
def test_a_release_that_was_refused_is_tried_again_when_its_tag_moves(connect: Connect, site: Site):
    repository = site.repository("acme/vpc")
    repository.commit({"main.tf": 'variable "a" {\n', "main_two.tf": 'variable "a" {}\nvariable "a" {}\n'})
    repository.tag("v1.0.0")
    git = connect("acme/vpc")
    shown = git.sync()["v1.0.0"]
    assert shown in ("held", "refused")
    if shown == "held":
        release = Release.objects.get()
        module_publishing.cancel(release=release, viewer=git.actor)
    assert git.shown == {"v1.0.0": "refused"}
    assert git.sync() == {"v1.0.0": "refused"}
    assert git.tag("v1.0.0").verdict == "refused"

    repository.commit(module())
    repository.tag("v1.0.0")

    assert git.sync() == {"v1.0.0": "published"}
    assert Release.objects.filter(state=State.PUBLISHED).count() == 1


TESTS = '[submodule "tests"]\n\tpath = tests\n\turl = ../tests.git\n'


@pytest.mark.both
@pytest.mark.parametrize(
    ("files", "folder", "submodules"),
    [
        ({}, "", "leave_out"),
        ({".gitattributes": "/tests export-ignore\n"}, "", "refuse"),
        ({f"vpc/{name}": text for name, text in module().items()}, "vpc", "refuse"),
    ],
)
def test_a_submodule_that_no_module_needs_is_left_out_as_git_archive_does(
    connect: Connect, site: Site, files: dict[str, str], folder: str, submodules: str
):
    repository = site.repository("acme/vpc")
    repository.commit({**module(), ".gitmodules": TESTS, "tests": submodule("1" * 40), **files})
    repository.tag("v1.0.0")
    rules = [{"tag": "v{version}", "folder": folder, "module": "vpc/aws"}]
    git = connect("acme/vpc", rules=rules, submodules=submodules)

    assert git.sync() == {"v1.0.0": "published"}, git.reason("v1.0.0")
    assert not any("tests.git" in request for request in site.requests)


def test_a_submodule_that_the_module_calls_is_asked_about_where_it_is_left_out_and_can_be_the_module_itself(
    connect: Connect, site: Site
):
    part = site.repository("acme/tests").commit(module("part"))
    repository = site.repository("acme/vpc")
    calls = module() | {"call.tf": 'module "tests" {\n  source = "./tests"\n  name   = "x"\n}\n'}
    repository.commit({**calls, ".gitmodules": TESTS, "tests": submodule(part)})
    repository.tag("v1.0.0")
    rules = [*RULES, {"tag": "v{version}", "folder": "tests", "module": "tests/aws"}]
    git = connect("acme/vpc", rules=rules, submodules="leave_out")
    git.sync()

    assert git.tag("v1.0.0").shown == "held"
    assert "./tests" in git.reason("v1.0.0")
    assert "no .tf or .tofu file in tests" in git.reason("v1.0.0", "tests/aws")
    connecting.change(repository=git.repository, actor=git.actor, submodules="fetch")
    git.retry("v1.0.0", "tests/aws")
    assert git.tag("v1.0.0", "tests/aws").shown == "published"


def test_a_pointer_that_export_ignore_leaves_out_is_none(connect: Connect, site: Site):
    repository = site.repository("acme/vpc")
    attributes = "*.zip filter=lfs export-ignore\n"
    repository.commit({**module(), ".gitattributes": attributes, "data.zip": lfs_pointer()})
    repository.tag("v1.0.0")

    assert connect("acme/vpc").sync() == {"v1.0.0": "published"}


def test_a_question_holds_the_tag_and_its_answer_publishes_it(connect: Connect, site: Site, alice: User):
    repository = site.repository("acme/vpc")
    repository.commit({"modules/a/main.tf": "# a\n", "modules/b/main.tf": "# b\n"})  # no root
    repository.tag("v1.0.0")
    git = connect("acme/vpc")

    assert git.sync() == {"v1.0.0": "held"}
    assert git.reason("v1.0.0")
    release = Release.objects.get()
    assert release.state == State.HELD
    assert git.sync() == {"v1.0.0": "held"}

    answers.answer(release=release, viewer=in_browser(alice), confirm=[], folder="modules/a")
    work_off()
    assert git.shown == {"v1.0.0": "published"}


def test_what_needs_approval_is_held_and_published_once_it_is_approved(git: Git, upstream: Repository, alice: User):
    git.repository.namespace.requires_approval = True
    git.repository.namespace.save()
    upstream.tag("v1.0.0")

    assert git.sync() == {"v1.0.0": "held"}
    assert "Awaiting approval" in git.reason("v1.0.0")
    release = Release.objects.get()
    approving.approve(release=release, viewer=in_browser(alice), digest=release.digest)
    work_off()
    assert git.shown == {"v1.0.0": "published"}


def test_what_the_namespace_does_not_let_in_is_refused_with_its_reason(git: Git, upstream: Repository, published: Any):
    published("acme/vpc/aws", "1.0.0")
    upstream.tag("v1.0.0")
    assert git.sync() == {"v1.0.0": "refused"}
    assert "is already published" in git.reason("v1.0.0")

    git.repository.namespace.trusted_publishers_only = True
    git.repository.namespace.save()
    upstream.tag("v1.1.0")
    assert git.sync()["v1.1.0"] == "refused"
    assert "Only trusted publishers publish in acme" in git.reason("v1.1.0")


def test_a_repository_that_is_connected_again_finds_its_releases_and_two_tags_of_a_commit_are_one(
    connect: Connect, git: Git, upstream: Repository
):
    upstream.tag("v1.0.0")
    git.sync()
    connecting.disconnect(repository=git.repository, actor=git.actor)
    upstream.tag("1.0.0")
    rules = [{"tag": tag, "folder": "", "module": "vpc/aws"} for tag in ("v{version}", "{version}")]

    again = connect(rules=rules)

    assert again.sync() == {"v1.0.0": "published", "1.0.0": "published"}
    assert Release.objects.count() == 1


@pytest.mark.slow
def test_a_full_namespace_refuses_with_its_quota_until_there_is_room(git: Git, upstream: Repository):
    namespace = git.repository.namespace
    namespace.quota_versions = 1
    namespace.save()
    upstream.tag("v1.0.0")
    upstream.tag("v1.1.0")

    assert sorted(git.sync().values()) == ["published", "refused"]
    namespace.quota_versions = 2
    namespace.save()
    assert git.retry("v1.1.0") == {"v1.0.0": "published", "v1.1.0": "published"}
