"""GET …/<version>/origin of modules and providers: what it says, to whom, and in how many queries."""

import pytest
from django.utils import timezone

from apps.provenance.origin import line_of
from apps.releases.models import Release
from apps.releases.origin.models import Approval, Decision, Origin
from tests.builders.ci_claims import COMMIT
from tests.provenance.origin.conftest import MODULE, as_of_github, open_to_all
from tests.providers.draft_client import DARWIN, LINUX, URL, DraftClient, zips
from tests.providers.draft_client import work as publish_drafts
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
VPC = "https://github.com/acme/vpc"


@pytest.mark.both
def test_a_release_from_ci_says_what_its_run_was_with_links(ci, send, told, tofu, bob):
    send(ci())
    as_of_github()

    said = told(tofu(bob))
    assert (said["strength"], said["verified"]) == ("verified-claims", True)
    assert {fact["name"]: (fact["value"], fact["url"]) for fact in said["facts"]} == {
        "repository": ("acme/vpc", VPC),
        "commit": (COMMIT, f"{VPC}/commit/{COMMIT}"),
        "ref": ("refs/tags/v1.2.0", f"{VPC}/tree/v1.2.0"),
        "workflow": (
            "acme/vpc/.github/workflows/release.yml@refs/tags/v1.2.0",
            f"{VPC}/blob/{COMMIT}/.github/workflows/release.yml",
        ),
        "run": ("971", f"{VPC}/actions/runs/971"),
        "actor": ("alice", "https://github.com/alice"),
    }
    published = said["published"]
    assert published["by"].startswith("acme:github-")
    assert (published["way"], published["vendor"], published["service_account"]) == ("api", "GitHub Actions", True)
    assert published["at"] == timezone.localtime(Release.objects.get().published_at).isoformat().replace("+00:00", "Z")
    assert (said["namespace"], said["name"], said["system"], said["version"]) == ("acme", "vpc", "aws", "1.2.0")


def test_strangers_read_the_run_of_a_public_release_but_no_names_and_no_claims(ci, send, told, tofu, acme, alice):
    open_to_all(acme)
    send(ci())
    nobody, publisher = told(tofu(None)), told(tofu(alice))

    assert {fact["name"] for fact in nobody["facts"]} == {"repository", "commit", "ref", "workflow", "run"}
    assert nobody["verified"] is True
    assert (nobody["published"]["by"], nobody["published"]["token"], nobody["claims"]) == (None, None, None)
    assert publisher["claims"]["repository_owner_id"] == "65"
    assert "alice" not in str(nobody)


def test_readers_read_names_but_neither_claims_nor_labels_of_tokens(ci, send, told, tofu, alice, bob, published):
    send(ci())
    published("acme/vpc/aws", "1.3.0")
    Origin.objects.filter(release__version="1.3.0").update(token_label="laptop")

    assert told(tofu(bob))["claims"] is None
    assert told(tofu(bob), "1.3.0")["published"] | {"at": ""} == {
        "by": "alice",
        "way": "page",
        "vendor": "",
        "service_account": False,
        "token": None,
        "at": "",
    }
    assert told(tofu(alice), "1.3.0")["published"]["token"] == "laptop"


@for_each_row(("way", "strength"), [("page", "person"), ("api", "token"), ("oci", "oci-push")])
def test_nothing_else_is_called_verified_and_digests_are_those_as_sent_and_as_served(
    way, strength, published, told, tofu, bob
):
    release = published("acme/vpc/aws", "1.2.0")
    Origin.objects.filter(release=release).update(way=way)

    said = told(tofu(bob))
    assert (said["strength"], said["verified"]) == (strength, False)
    assert "verified" not in str(said["differences"])
    assert said["uploaded"] == {"digest": f"sha256:{release.uploaded_digest}", "size": release.uploaded_size}
    assert said["served"][0] == {"name": "vpc-aws-1.2.0.zip", "digest": f"sha256:{release.digest}"}
    assert [one["digest"][:7] for one in said["served"]] == ["sha256:"] * len(said["served"])


def test_a_release_of_an_older_larder_says_that_nothing_was_recorded(published, told, tofu, bob):
    published("acme/vpc/aws", "1.2.0")
    Origin.objects.all().delete()

    said = told(tofu(bob))
    assert (said["strength"], said["verified"], said["published"]["way"]) == ("not-recorded", False, None)
    assert said["published"]["by"] == "alice"


def test_files_of_two_runs_are_named_and_not_verified(ci, held, told, tofu, bob, acme):
    first, second = DraftClient(ci()), DraftClient(ci(run_id="972"))
    first.open(protocols=["5.0"])
    first.put(LINUX, zips()[LINUX])
    second.put(DARWIN, zips()[DARWIN])
    assert second.hand_in().status_code == 202
    publish_drafts()

    said = told(tofu(bob), "1.2.0", URL.removesuffix("/1.2.0"))
    assert (said["verified"], said["strength"]) == (False, "token")
    assert [{fact["name"]: fact["value"] for fact in one["facts"]}["run"] for one in said["others"]] == ["971"]
    assert said["others"][0]["person"].startswith("acme:github-")
    open_to_all(acme)
    (other,) = told(tofu(None), "1.2.0", URL.removesuffix("/1.2.0"))["others"]
    assert (other["person"], {fact["name"] for fact in other["facts"]} & {"actor", "run"}) == (None, {"run"})


def test_a_provider_says_who_signed_it_since_when(draft_client, held, told, tofu, bob):
    draft_client.publish(zips(), protocols=["5.0"])

    said = told(tofu(bob), "1.2.0", URL.removesuffix("/1.2.0"))
    assert said["key"]["fingerprint"] == held.fingerprint
    assert (said["key"]["key_id"], said["key"]["state"]) == (held.key_id, "active")
    assert said["key"]["since"] is not None
    assert {DARWIN, LINUX} < {one["name"] for one in said["served"]}
    assert (said["namespace"], said["type"]) == ("acme", "dns")


def test_a_line_says_what_is_known_without_names_of_people(ci, send, published):
    release = send(ci())
    assert line_of(release) == "published by GitHub Actions from acme/vpc at 0a4d55a8d778 (verified)"
    manual = published("acme/vpc/aws", "1.3.0")
    assert line_of(manual) == "published by a person in a browser (not verified)"
    Origin.objects.all().delete()
    assert line_of(Release.objects.get(pk=manual.pk)) == "not recorded: published by an older Larder"


def approve(release: Release, person, **more) -> None:
    now = timezone.now()
    given = {"digest": release.digest, "decision": Decision.APPROVED, "decided_by": person, "decided_at": now, **more}
    Approval.objects.create(release=release, asked_at=now, until=now, **given)


def test_an_approval_is_named_with_who_gave_it_to_those_who_are_known(published, told, tofu, acme, alice, bob):
    open_to_all(acme)
    approve(published("acme/vpc/aws", "1.2.0"), bob, has_second_factor=True)

    said = told(tofu(alice))["approval"]
    assert (said["by"], said["bot"], said["second_factor"]) == ("bob", False, True)
    assert told(tofu(None))["approval"]["by"] is None


def test_an_approval_of_other_bytes_is_none(published, told, tofu, alice, bob):
    approve(published("acme/vpc/aws", "1.2.0"), bob, digest="0" * 64)

    assert told(tofu(alice))["approval"] is None


def test_a_private_one_is_hidden_and_one_in_quarantine_is_for_staff(published, tofu, charlie, bob, olga, acme):
    release = published("acme/vpc/aws", "1.2.0")
    assert tofu(charlie).get(f"{MODULE}/1.2.0/origin").status_code == 404
    Release.objects.filter(pk=release.pk).update(quarantined_at=timezone.now(), quarantine_reason="x")

    assert tofu(bob).get(f"{MODULE}/1.2.0/origin").status_code == 404
    assert tofu(olga).get(f"{MODULE}/1.2.0/origin").json()["commands"] == []


@pytest.mark.both
def test_it_takes_as_many_queries_for_a_hundred_versions(published, told, tofu, bob, django_assert_max_num_queries):
    published("acme/vpc/aws", "1.1.0")
    published("acme/vpc/aws", "1.2.0")
    first = Release.objects.get(version="1.1.0")
    for number in range(30):
        first.pk, first.version, first.sort_key = None, f"1.0.{number}", b"\1" + bytes([number])
        first.public_id, first.staging_key = f"00000000-0000-4000-8000-0000000000{number:02}", f"k{number}"
        first.save(force_insert=True)
    client = tofu(bob)
    told(client)

    with django_assert_max_num_queries(22):
        assert told(client)["previous"] == "1.1.0"
