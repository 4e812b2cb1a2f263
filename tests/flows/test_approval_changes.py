"""The page of an approver: the comparison with the version before, and what is unusual."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules.comparing import versions
from apps.releases.models import Release, State
from apps.releases.origin.models import Approval, Origin, Way
from apps.releases.origin.unusual import unusual
from tests.builders.approving import ask_for_approval, client_of, decide, publisher
from tests.builders.archives import module_zip
from tests.builders.ci_runs import add_rule
from tests.builders.tars import gz, module_tar
from tests.cast import BLOBS
from tests.providers.draft_client import DraftClient, hold, work, zips
from tests.rows import for_each_row
from tests.shelves import run_jobs

pytestmark = pytest.mark.django_db
BEFORE = {
    "main.tf": 'variable "name" {\n  default = "x"\n}\n\nresource "aws_vpc" "this" {}\n',
    "README.md": "# VPC\n\nOld words.\n",
    "old.tf": "",
}
AFTER = {
    "main.tf": 'variable "name" {}\n\noutput "id" {\n  value = 1\n}\n\nresource "aws_vpc" "other" {}\n',
    "README.md": "# VPC\n\nNew words.\n",
    "new.tf": 'terraform {\n  required_providers {\n    random = {\n      source = "hashicorp/random"\n    }\n  }\n}\n',
}


@pytest.fixture
def space(acme, alice, bob):
    publisher(bob, acme)
    return acme


def waiting(space, published, before=BEFORE, after=AFTER) -> Approval:
    published(version="1.2.0", data=module_zip(before))
    ask_for_approval(space)
    return Approval.objects.get(release=published(version="1.3.0", data=module_zip(after)))


# --- The comparison ---------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_it_is_the_comparison_of_the_two_once_both_are_published(space, alice, bob, published):
    approval = waiting(space, published)
    document = client_of(bob).get(f"/api/v1/releases/{approval.release.public_id}/approval").json()
    assert document["comparison"]["changes"][0]["sentence"] == "default removed: the input is now required"
    assert (document["digest"], document["refusal"]) == (f"sha256:{approval.digest}", None)
    decide(client_of(bob), approval.release, "approve")
    run_jobs()

    found = versions.compare(Viewer(bob), ModuleAddress("acme", "vpc", "aws"), "1.2.0...1.3.0")
    told = approval.comparison
    assert [{key: one[key] for key in ("kind", "name", "severity", "rule")} for one in told["changes"]] == [
        {"kind": one.kind, "name": one.name, "severity": str(one.severity), "rule": one.rule} for one in found.changes
    ]
    assert {one["rule"] for one in told["changes"]} >= {
        "input_made_required",
        "output_added",
        "resource_removed",
        "provider_added",
    }
    assert (told["against"], told["severity"], told["is_said"]) == ("1.2.0", "breaking", False)
    assert told["files"] == {"added": ["new.tf"], "removed": ["old.tf"], "changed": ["README.md", "main.tf"]}
    texts = versions.differences(found)
    assert [(one["name"], one["added"], one["removed"]) for one in told["texts"]["shown"]] == [
        (one.name, one.added, one.removed) for one in texts.shown
    ]
    lines = told["texts"]["shown"][0]["hunks"][0]["lines"]
    assert {(line["sign"], line["text"]) for line in lines} >= {("-", "Old words."), ("+", "New words.")}


def test_of_a_repacked_upload_the_lines_are_those_that_will_be_served(space, published):
    packed = gz(module_tar({name: text.encode() for name, text in AFTER.items()}, top="vpc/"))
    published(version="1.2.0", data=module_zip(BEFORE))
    ask_for_approval(space)

    told = Approval.objects.get(release=published(version="1.3.0", data=packed)).comparison

    assert "main.tf" in [one["name"] for one in told["texts"]["shown"]]
    assert told["texts"]["shown"][0]["hunks"]


def test_an_old_archive_that_cannot_be_read_refuses_nothing(space, published, stored_files, empty_storage):
    published(version="1.2.0", data=module_zip(BEFORE))
    for name in stored_files():
        if name.startswith("sha256/"):
            (BLOBS / name).unlink()
    ask_for_approval(space)

    release = published(version="1.3.0", data=module_zip(AFTER))

    assert release.state == State.AWAITING_APPROVAL
    assert {one["problem"] for one in Approval.objects.get(release=release).comparison["texts"]["shown"]} == {
        "Too large, not text, or not indexed by Larder."
    }


def test_a_providers_comparison_has_platforms_protocols_packages_and_docs(space, alice, bob, dora, worker_host, tofu):
    hold(space, dora)
    assert DraftClient(tofu(alice)).publish(zips(), protocols=["5.0"])["state"] == "published"
    ask_for_approval(space)
    after = {name: data for name, data in zips("1.3.0").items() if "darwin" not in name}
    client = DraftClient(tofu(alice), "/api/v1/providers/acme/dns/1.3.0")

    assert client.publish(after, protocols=["6.0"])["state"] == "awaiting-approval"

    told = Approval.objects.get().comparison
    assert {(one["rule"], one["name"]) for one in told["changes"]} >= {
        ("platform_removed", "darwin_arm64"),
        ("protocol_removed", "5"),
        ("protocol_added", "6"),
    }
    assert [(one["platform"], one["after"] is None) for one in told["packages"]] == [
        ("darwin_arm64", True),
        ("linux_amd64", False),
    ]
    assert decide(client_of(bob), Release.objects.latest("pk"), "approve").status_code == 202
    work()
    assert client.get()["state"] == "published"


def test_a_provider_is_neither_stored_nor_signed_before(space, alice, bob, dora, worker_host, tofu, stored_files):
    hold(space, dora)
    ask_for_approval(space)

    document = DraftClient(tofu(alice)).publish(zips(), protocols=["5.0"])

    assert document["state"] == "awaiting-approval"
    assert [step["name"] for step in document["steps"]] == ["received", "checked", "approved", "signed", "published"]
    assert {name.partition("/")[0] for name in stored_files()} == {"staging"}
    release = Release.objects.get()
    assert not release.blobs.exists()
    assert client_of(alice).post(f"/api/v1/releases/{release.public_id}/cancel").status_code == 200
    assert stored_files() == []


# --- What is unusual --------------------------------------------------------------------------------------------------


@pytest.fixture
def rule(space, dora):
    return add_rule(space, dora)


def from_ci(published, rule, version: str, **facts: str) -> Release:
    release = published(version=version, user=rule.user)
    said = {
        "repository": "acme/vpc",
        "ref": f"refs/tags/v{version}",
        "workflow": f"acme/vpc/.github/workflows/release.yml@refs/tags/v{version}",
        "actor": "alice",
    }
    Origin.objects.filter(release=release).update(
        issuer=rule.issuer, vendor=rule.kind, claims={"sub": "x"}, facts=said | facts
    )
    return release


WORKFLOW = "acme/vpc/.github/workflows/other.yml"


@for_each_row(
    ("facts", "said"),
    [
        ({}, []),
        ({"workflow": f"{WORKFLOW}@refs/tags/v1.3.0"}, [f"This is the first release from the workflow {WORKFLOW}."]),
        ({"ref": "refs/heads/main"}, ["This is the first release from the ref refs/heads/main."]),
        ({"actor": "mallory"}, ["This is the first release from a run that mallory started."]),
        ({"repository": "mallory/vpc"}, ["This is the first release from the repository mallory/vpc."]),
    ],
)
def test_a_fact_of_ci_that_never_was_before_is_told(rule, published, facts, said):
    from_ci(published, rule, "1.2.0")

    assert unusual(from_ci(published, rule, "1.3.0", **facts)) == said


def test_a_way_that_never_was_before_is_told(rule, alice, bob, published):
    assert unusual(published(version="1.0.0")) == ["This is the first release of acme/vpc/aws."]
    assert unusual(published(version="1.1.0")) == []
    assert unusual(published(version="1.2.0", user=bob)) == ["This is the first release of acme/vpc/aws by bob."]
    from_branch = from_ci(published, rule, "1.3.0", ref="refs/heads/main")
    assert unusual(from_branch) == ["This is the first release from CI."]
    assert unusual(from_ci(published, rule, "1.4.0")) == ["This is the first release from a tag."]


def test_a_manual_release_after_one_from_ci_is_told(rule, alice, published):
    from_ci(published, rule, "1.2.0")

    assert unusual(published(version="1.3.0")) == [
        "1.2.0 came from CI; this one was published manually.",
        "This is the first release of acme/vpc/aws by alice.",
    ]


@pytest.mark.both
def test_more_than_five_releases_in_an_hour_are_told(space, published):
    first = [published(version=f"1.{number}.0") for number in range(5)]
    assert unusual(first[-1]) == []

    sixth = published(version="1.5.0")

    assert unusual(sixth) == ["6 releases came into acme within an hour."]
    Release.objects.filter(pk__in=[one.pk for one in first]).update(received_at=timezone.now() - timedelta(hours=2))
    assert unusual(sixth) == []


def test_a_first_version_has_nothing_to_be_compared_with_and_is_told_to_be_the_first(space, published):
    ask_for_approval(space)

    row = Approval.objects.get(release=published(version="1.3.0", data=module_zip(AFTER)))

    assert row.comparison["against"] == ""
    assert row.comparison["files"]["added"] == ["README.md", "main.tf", "new.tf"]
    assert row.unusual == ["This is the first release of acme/vpc/aws."]
    assert Origin.objects.get().way == Way.PAGE
