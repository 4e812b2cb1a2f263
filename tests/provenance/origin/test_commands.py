"""The commands: what they name, and that no claim, name or number ends a word of them. test_verifying.py runs them."""

import shlex

import pytest
from django.conf import settings

from apps.provenance.models import Attestation, Form, Statement
from apps.providers.models import Package
from apps.releases.origin.models import Origin
from apps.signing.models import StatementKey
from tests.builders.attestations import PROVENANCE
from tests.provenance.origin.conftest import open_to_all
from tests.providers.draft_client import LINUX, zips
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
DNS = "/api/v1/providers/acme/dns"


def texts(document) -> dict[str, str]:
    return {one["code"]: one["text"] for one in document["commands"]}


def attach(release, subject="") -> None:
    digest = "a" * 64
    Attestation.objects.create(
        release=release,
        form=Form.BUNDLE,
        media_type="application/json",
        predicate_type=PROVENANCE,
        subjects=[subject or release.digest],
        content=b"x",
        digest=digest,
        size=1,
        manifest_digest=f"sha256:{digest}",
    )


def test_a_token_is_sent_only_where_one_is_needed(published, told, tofu, bob, acme):
    published("acme/vpc/aws", "1.2.0")
    assert '-H "Authorization: Bearer $LARDER_TOKEN"' in texts(told(tofu(bob)))["download"]
    open_to_all(acme)
    assert "Authorization" not in texts(told(tofu(None)))["download"]


def test_build_metadata_stays_in_the_names(published, told, tofu, bob):
    release = published("acme/vpc/aws", "1.2.0+build.7")
    said = texts(told(tofu(bob), "1.2.0+build.7"))

    assert shlex.split(said["download"])[-2:] == [
        "vpc-aws-1.2.0+build.7.zip",
        f"{settings.PUBLIC_URL}/archives/{release.digest}/vpc-aws-1.2.0+build.7.zip",
    ]
    assert shlex.split(said["digest"])[1] == f"{release.digest}  vpc-aws-1.2.0+build.7.zip"


def test_without_a_statement_there_is_none_to_verify_and_with_one_there_is(published, told, tofu, bob):
    release = published("acme/vpc/aws", "1.2.0")
    Statement.objects.all().delete()
    assert list(texts(told(tofu(bob)))) == ["download", "digest"]
    key = StatementKey.objects.create(key_id="b" * 64, public_key="PEM", retired_at="2026-01-01T00:00Z")
    Statement.objects.create(release=release, key=key, envelope=b"{}", digest="c" * 64, size=2)

    said = told(tofu(bob))
    assert list(texts(said))[2:] == ["statement", "statement-signature", "statement-subject", "cosign"]
    assert f"/api/v1/statement-keys/{'b' * 64}/pem" in texts(said)["statement"]
    assert "/api/v1/modules/acme/vpc/aws/1.2.0/statement" in texts(said)["statement"]
    assert said["statement"]["key_id"] == "b" * 64


def test_a_provider_is_shown_by_its_usual_platform_with_its_key_and_its_bundle_by_the_one_that_it_names(
    draft_client, held, told, tofu, bob
):
    draft_client.publish(zips(), protocols=["5.0"])
    last = Package.objects.order_by("-filename")[0]
    attach(last.version.release, last.digest)

    found = told(tofu(bob), "1.2.0", DNS)
    assert LINUX in texts(found)["download"]
    assert held.armor.strip() in texts(found)["signature"]
    assert held.fingerprint in texts(found)["signature"]
    assert shlex.split(found["attestations"][0]["command"].splitlines()[1])[3] == last.filename


def test_the_repository_of_a_bundle_is_that_of_the_verified_origin(ci, send, told, tofu, bob):
    release = send(ci())
    attach(release)
    none = "OWNER/REPOSITORY"
    for repository, named in (("acme/vpc", "acme/vpc"), ("acme/vpc;id", none), ("$(id)/x", none)):
        Origin.objects.filter(release=release).update(facts={"repository": repository})

        (attestation,) = told(tofu(bob))["attestations"]
        fetched, verified = attestation["command"].splitlines()
        assert fetched.endswith(f"/api/v1/modules/acme/vpc/aws/1.2.0/attestations/{'a' * 64}")
        bundle = f"attestation-{'a' * 12}.json"
        assert verified == f"gh attestation verify vpc-aws-1.2.0.zip --bundle {bundle} --repo {named}"

    Origin.objects.filter(release=release).update(vendor="", facts={"repository": "evil/vpc"})
    assert told(tofu(bob))["attestations"][0]["command"].endswith(f"--repo {none}"), "it was not verified"


@for_each_row("other", [{"form": Form.DSSE}, {"predicate_type": ""}, {"subjects": ["f" * 64]}])
def test_what_github_s_program_does_not_read_is_only_fetched(other, published, told, tofu, bob):
    """An envelope without its bundle, a bundle that signs bytes alone, one about bytes that are no longer served."""
    release = published("acme/vpc/aws", "1.2.0")
    algorithm, _, digits = release.module_version.manifest_digest.partition(":")
    assert algorithm == "sha256"
    attach(release, digits)
    verified = shlex.split(told(tofu(bob))["attestations"][0]["command"].splitlines()[1])
    assert verified[3] == f"oci://{settings.PUBLIC_HOST}/acme/vpc/aws@sha256:{digits}", "with the manifest it is about"

    Attestation.objects.update(**other)
    assert "gh attestation" not in told(tofu(bob))["attestations"][0]["command"]
