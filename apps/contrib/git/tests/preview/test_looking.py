"""A preview looks into one tag of each rule as publishing does: it says the same, and its counts are right."""

from typing import Any

import pytest

from apps.accounts.models import BreakingChanges, Namespace
from apps.audit.kinds import Kind
from apps.contrib.git import connecting, git_calls, looking, previewing, rulebook
from apps.contrib.git.models import Tag
from apps.contrib.git.tests.conftest import RULES, Connect, Git, kinds, module, work_off
from apps.releases.models import Release
from tests.builders.archives import module_zip
from tests.builders.git_servers import File, Repository, Site, lfs_pointer, submodule
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db


def previewed(git: Git, rules: Any = None) -> dict[str, dict[str, Any]]:
    """Return the findings of a worker, by tag and module."""
    checked = None if rules is None else rulebook.checked(rules)
    previewing.ask(repository=git.repository, actor=git.actor, rules=checked)
    work_off()
    git.repository.refresh_from_db()
    assert git.repository.preview["state"] == "done", git.repository.preview["failure"]
    return {f"{row['tag']} {row['module']}".strip(): row for row in previewing.planned(git.repository, rules)}


def shown(rows: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: row["verdict"] for name, row in rows.items()}


@pytest.mark.both
@pytest.mark.parametrize(
    ("files", "folder", "verdict", "code", "said"),
    [
        (module(), "", "publish", "", ""),
        (module(), "modules/eks", "refused", "folder_missing", "no folder modules/eks in commit"),
        ({"docs/a.md": "x"}, "", "refused", "no_module", "no .tf or .tofu file in the repository"),
        ({**module(), "vendor": submodule("1" * 40)}, "", "refused", "submodules", "1 submodule (vendor)"),
        (
            {**module(), ".gitattributes": "*.zip filter=lfs diff=lfs merge=lfs -text\n", "data.zip": lfs_pointer()},
            "",
            "refused",
            "lfs",
            "1 Git LFS pointer (data.zip)",
        ),
        ({**module(), "more.tf": 'variable "name" {}\n'}, "", "held", "unloadable", ""),
        ({**module(), "terraform.tfstate": "{}"}, "", "held", "state_file", ""),
        ({**module(), "calls.tf": 'module "a" {\n  source = "../dns"\n}\n'}, "", "held", "unloadable", ""),
    ],
)
def test_what_publishing_would_say_of_a_tag_is_said_before_in_the_same_words(
    connect: Connect, site: Site, files: dict[str, str | File], folder: str, verdict: str, code: str, said: str
):
    repository = site.repository("acme/vpc")
    repository.commit(files)
    repository.tag("v1.0.0")
    git = connect("acme/vpc", rules=[{"tag": "v{version}", "folder": folder, "module": "vpc/aws"}])

    row = previewed(git)["v1.0.0 vpc/aws"]

    assert (row["verdict"], row["code"], row["is_checked"]) == (verdict, code, True), row["reason"]
    assert said in row["reason"]
    assert not Release.objects.exists()
    assert not Tag.objects.exists()
    became = git.sync()["v1.0.0"]
    assert became == {"publish": "published"}.get(verdict, verdict)
    if verdict != "publish":
        assert row["reason"] == git.reason("v1.0.0")


@pytest.mark.both
def test_a_version_that_exists_is_not_counted_and_says_what_publishing_says(git: Git, upstream: Repository, published):
    published("acme/vpc/aws", "1.1.0")
    for number in range(3):
        upstream.commit(module(str(number)))
        upstream.tag(f"v1.{number}.0")

    rows = previewed(git)

    assert shown(rows) == {"v1.2.0 vpc/aws": "publish", "v1.1.0 vpc/aws": "refused", "v1.0.0 vpc/aws": "publish"}
    reason = rows["v1.1.0 vpc/aws"]["reason"]
    assert reason.startswith("acme/vpc/aws 1.1.0 is already published, uploaded as sha256:")
    assert "publish your archive under another version number" in reason
    assert git.sync()["v1.1.0"] == "refused"
    assert git.tag("v1.1.0").code == rows["v1.1.0 vpc/aws"]["code"] == "conflict"
    # The repository again: what publishing would find to be its own release is no conflict.
    assert shown(previewed(git)) == {
        f"v1.{n}.0 vpc/aws": verdict for n, verdict in ((2, "published"), (1, "refused"), (0, "published"))
    }
    connecting.disconnect(repository=git.repository, actor=git.actor)


def test_one_tag_of_each_rule_is_looked_into_the_newest_that_would_be_published(
    connect: Connect, site: Site, published
):
    repository = site.repository("acme/vpc")
    published("acme/vpc/aws", "2.0.0")
    for number in range(3):
        repository.commit({f"vpc/{name}": text for name, text in module(str(number)).items()})
        repository.tag(f"v{number}.0.0")
    rules = [
        {"tag": "v{version}", "folder": "vpc", "module": "vpc/aws"},
        {"tag": "v{version}", "folder": "dns", "module": "dns/aws"},
        {"tag": "dns-{version}", "folder": "dns", "module": "dns/aws"},
    ]
    git = connect("acme/vpc", rules=rules)

    rows = previewed(git)

    assert [name for name, row in rows.items() if row["is_checked"]] == ["v2.0.0 dns/aws", "v1.0.0 vpc/aws"]
    assert rows["v2.0.0 dns/aws"]["code"] == "folder_missing"
    assert rows["v1.0.0 vpc/aws"]["verdict"] == "publish"
    assert previewing.is_checked(git.repository, rules)
    assert not previewing.is_checked(git.repository, rules[:1])


def test_what_there_is_no_time_for_is_not_said_but_counted(
    git: Git, upstream: Repository, monkeypatch: pytest.MonkeyPatch
):
    upstream.tag("v1.0.0")
    monkeypatch.setattr(git_calls, "MAX_SECONDS", 0.0)
    monkeypatch.setattr(looking, "_of_commit", pytest.fail)  # nothing is fetched

    assert not previewed(git)["v1.0.0 vpc/aws"]["is_checked"]
    assert git.repository.preview["unchecked"] == 1


@pytest.mark.both
def test_other_rules_and_another_choice_of_submodules_are_looked_into_anew(connect: Connect, site: Site):
    repository = site.repository("acme/vpc")
    repository.commit({**module(), "tests": submodule("1" * 40)})
    repository.tag("v1.0.0")
    git = connect("acme/vpc")
    other = [{"tag": "v{version}", "folder": "none", "module": "vpc/aws"}]

    assert previewed(git)["v1.0.0 vpc/aws"]["code"] == "submodules"
    assert previewed(git, other)["v1.0.0 vpc/aws"]["code"] == "folder_missing"
    assert git.repository.rules.get().folder == "", "nothing is saved"
    previewed(git)
    connecting.change(repository=git.repository, actor=git.actor, submodules="leave_out")
    assert not previewing.is_checked(git.repository, RULES)
    assert [row["verdict"] for row in previewing.planned(git.repository)] == ["publish"]
    assert previewed(git)["v1.0.0 vpc/aws"]["is_checked"]


def test_who_asks_about_other_rules_while_a_worker_looks_is_answered(
    connect: Connect, git: Git, upstream: Repository, monkeypatch: pytest.MonkeyPatch
):
    upstream.tag("v1.0.0")
    other = rulebook.checked([{"tag": "v{version}", "folder": "none", "module": "vpc/aws"}])
    into = looking.into

    def asked_meanwhile(repository: Any, *more: Any) -> Any:
        if repository.preview["asked"] is None:
            row = type(repository).objects.get(pk=repository.pk)
            previewing.ask(repository=row, actor=git.actor, rules=other)
        return into(repository, *more)

    monkeypatch.setattr(looking, "into", asked_meanwhile)
    previewed(git)

    assert git.repository.preview["rules"] == [other[0].as_json()]
    assert [look["code"] for look in git.repository.preview["looks"]] == ["folder_missing"]


@for_each_row(
    ("mode", "verdict"),
    [(BreakingChanges.ASK, "held"), (BreakingChanges.REFUSE, "refused"), (BreakingChanges.SILENT, "publish")],
)
def test_what_the_version_guard_would_ask_or_refuse_is_said(
    git: Git, upstream: Repository, published, acme: Namespace, mode: str, verdict: str
):
    published("acme/vpc/aws", "1.0.0", module_zip({"main.tf": 'variable "gone" {\n  default = ""\n}\n'}))
    upstream.tag("v1.1.0")
    Namespace.objects.filter(pk=acme.pk).update(breaking_changes=mode)
    git.repository.namespace.refresh_from_db()

    assert previewed(git)["v1.1.0 vpc/aws"]["verdict"] == verdict


def test_where_only_trusted_publishers_publish_the_preview_says_so_and_audits_nothing(
    git: Git, upstream: Repository, acme: Namespace
):
    upstream.tag("v1.0.0")
    Namespace.objects.filter(pk=acme.pk).update(trusted_publishers_only=True)

    row = previewed(git)["v1.0.0 vpc/aws"]

    assert (row["verdict"], "Only trusted publishers publish in acme." in row["reason"]) == ("refused", True)
    assert Kind.PERMISSION_REFUSED not in kinds()
