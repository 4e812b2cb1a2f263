"""The differences between the origin of a release and that of the next lower published version, in words."""

import pytest
from django.utils import timezone

from apps.releases.models import Release
from apps.releases.origin.models import Approval, Decision, Origin
from apps.signing.models import SigningKey
from tests.builders.keys import signing_key
from tests.provenance.origin.conftest import differences, open_to_all
from tests.providers.draft_client import DraftClient, hold, zips
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
WORKFLOWS = "acme/vpc/.github/workflows"


@pytest.fixture
def two_runs(ci, send):
    """1.3.0, and 1.4.0 from the same pipeline; answers the first."""
    before = send(ci(), "1.3.0")
    send(ci(), "1.4.0")
    return before


@pytest.mark.both
def test_before_is_the_next_lower_one_by_precedence_that_is_published(published, told, tofu, bob):
    for version in ("1.9.0", "1.10.0-rc.1", "1.11.0", "1.10.0"):
        published("acme/vpc/aws", version)
    Release.objects.filter(version="1.10.0-rc.1").update(quarantined_at=timezone.now())

    assert told(tofu(bob), "1.10.0")["previous"] == "1.9.0"
    assert told(tofu(bob), "1.11.0")["previous"] == "1.10.0"


def test_each_is_compared_with_the_way_of_the_one_before(ci, send, published, told, tofu, alice, bob):
    send(tofu(alice), "1.2.0")
    send(ci(), "1.3.0")
    send(ci(sha="b" * 40, run_id="972", ref="refs/tags/v1.4.0"), "1.4.0")
    send(ci("gitlab"), "1.5.0")
    published("acme/vpc/aws", "1.6.0")
    Origin.objects.filter(release=published("acme/vpc/aws", "1.7.0")).update(way="oci")

    way = "1.2.0 was published with an API token; this one came from CI (GitHub Actions)."
    assert differences(told(tofu(bob), "1.3.0")) == {"way": way}
    assert differences(told(tofu(bob), "1.4.0")) == {"same": "The same as 1.3.0."}
    assert differences(told(tofu(bob), "1.5.0")) == {"vendor": "Another CI: GitLab CI/CD, not GitHub Actions."}
    way = "1.5.0 came from CI (GitLab CI/CD); this one was published manually."
    assert differences(told(tofu(bob), "1.6.0"))["way"] == way
    way = "1.6.0 was published manually; this one was pushed over OCI."
    assert differences(told(tofu(bob), "1.7.0")) == {"way": way}


@for_each_row(
    ("facts", "claims", "expected"),
    [
        ({"repository": "acme/other"}, {}, {"repository": "Another repository: acme/vpc, not acme/other."}),
        ({"repository": "Acme/VPC"}, {}, {"same": "The same as 1.3.0."}),
        (
            {},
            {"repository_id": "2"},
            {
                "repository-id": "The repository has the same name as that of 1.3.0 but a different id: it was created "
                "again."
            },
        ),
        (
            {"workflow": f"{WORKFLOWS}/other.yml@refs/heads/main"},
            {},
            {"workflow": f"Another workflow: {WORKFLOWS}/release.yml, not {WORKFLOWS}/other.yml."},
        ),
        ({"ref": "refs/heads/main"}, {}, {"ref": "1.3.0 came from a branch, this one from a tag."}),
        (
            {},
            {"environment": ""},
            {"environment": "1.3.0 ran in no environment, this one in the environment production."},
        ),
    ],
)
def test_what_the_run_before_was(facts, claims, expected, two_runs, told, tofu, bob):
    origin = Origin.objects.get(release=two_runs)
    origin.facts, origin.claims = origin.facts | facts, origin.claims | claims
    origin.save()

    assert differences(told(tofu(bob), "1.4.0")) == expected


def test_another_server_of_the_same_vendor(two_runs, told, tofu, bob):
    Origin.objects.filter(release=two_runs).update(issuer="https://git.acme.example/_services/token")

    assert list(differences(told(tofu(bob), "1.4.0"))) == ["issuer"]


def test_the_first_release_by_a_person_and_then_another_one_whom_strangers_do_not_read(
    published, told, tofu, acme, bob, dora
):
    for version, more in (("1.2.0", {}), ("1.3.0", {"user": dora}), ("1.4.0", {}), ("1.5.0", {})):
        published("acme/vpc/aws", version, **more)

    assert differences(told(tofu(bob))) == {
        "first": "There is no lower version of acme/vpc/aws to compare with.",
        "publisher": "The first release of acme/vpc/aws by alice.",
    }
    assert differences(told(tofu(bob), "1.3.0")) == {"publisher": "The first release of acme/vpc/aws by dora."}
    assert differences(told(tofu(bob), "1.4.0")) == {"publisher": "1.3.0 was published by dora, this one by alice."}
    assert differences(told(tofu(bob), "1.5.0")) == {"same": "The same as 1.4.0."}
    open_to_all(acme)
    first = "The first release of acme/vpc/aws by this publisher."
    assert differences(told(tofu(None), "1.3.0")) == {"publisher": first}
    assert differences(told(tofu(None), "1.4.0")) == {"publisher": "Published by someone else."}


def test_one_that_is_not_recorded(published, told, tofu, bob):
    published("acme/vpc/aws", "1.2.0")
    published("acme/vpc/aws", "1.3.0")
    Origin.objects.filter(release__version="1.2.0").delete()
    text = "Where 1.2.0 comes from is not recorded: an older Larder published it."
    assert differences(told(tofu(bob), "1.3.0")) == {"unknown": text}
    Origin.objects.all().delete()

    text = "Where this release and 1.2.0 come from is not recorded: an older Larder published them."
    assert differences(told(tofu(bob), "1.3.0")) == {"unknown": text}


def test_an_approval_that_the_one_before_had(published, told, tofu, alice, bob):
    first = published("acme/vpc/aws", "1.2.0")
    published("acme/vpc/aws", "1.3.0")
    now = timezone.now()
    given = {"decision": Decision.APPROVED, "decided_by": bob, "decided_at": now, "asked_at": now, "until": now}
    Approval.objects.create(release=first, digest=first.digest, **given)

    assert differences(told(tofu(bob), "1.3.0")) == {
        "approval": "1.2.0 was approved by another person; this one was not.",
    }


def test_another_signing_key(draft_client, tofu, alice, acme, dora, held, told, bob):
    draft_client.publish(zips(), protocols=["5.0"])
    SigningKey.objects.update(state="retired")
    other = hold(acme, dora, signing_key("rsa4096"))
    url = "/api/v1/providers/acme/dns"
    DraftClient(tofu(alice), f"{url}/1.3.0").publish(zips("1.3.0"), protocols=["5.0"])

    assert differences(told(tofu(bob), "1.3.0", url)) == {
        "key": f"Another signing key: {other.key_id}, not {held.key_id}.",
    }
