"""The content of a statement: the digests that clients receive, what Larder verified and how strongly, and no
person.
"""

import hashlib
import json
import uuid
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.utils import timezone

from apps.lib.formats.oci_manifests import digest_of
from apps.provenance import statements, strengths, subjects
from apps.releases.models import Kind, Release
from apps.releases.origin.models import Approval, Origin, Way
from tests.builders.archives import MODULE
from tests.builders.ci_claims import COMMIT, SHAPES
from tests.builders.tars import gz, module_tar
from tests.oci.manifests.documents import Repo
from tests.oci.packages.samples import RAW, ZIP
from tests.provenance.conftest import said_in
from tests.providers.draft_client import DraftClient, hold, zips
from tests.rows import for_each_row


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def predicate_of(release: Release) -> dict[str, Any]:
    release = Release.objects.select_related("namespace").get(pk=release.pk)
    found: dict[str, Any] = statements.payload_of(release)["predicate"]
    return found


def from_ci(release: Release, kind: str, **claims: Any) -> dict[str, Any]:
    """Return what is said of it once its origin is a run of that vendor."""
    from apps.accounts.identity.trusted.kept_claims import origin_of
    from apps.accounts.identity.trusted.vendors import VENDORS

    said = {**SHAPES[kind].claims, **claims}
    issuer = VENDORS[kind].issuer.format(workspace="acme", organization_id=uuid.UUID(int=7))
    Origin.objects.filter(release=release).update(
        way=Way.API, vendor=kind, issuer=issuer, claims=said, facts=origin_of(VENDORS[kind], said), token_label="ci"
    )
    return predicate_of(release)


# --- Subjects ---------------------------------------------------------------------------------------------------------


def test_the_subjects_of_a_module_are_what_clients_download(published, state, tofu, bob):
    said = said_in(state(published()))
    found = {one["name"]: one["digest"]["sha256"] for one in said["subject"]}
    client = tofu(bob)
    where = client.get("/v1/modules/acme/vpc/aws/1.2.0/download").headers["X-Terraform-Get"]
    served = b"".join(client.get(where.partition("?archive")[0]).streaming_content)
    assert found["vpc-aws-1.2.0.zip"] == sha256(served)
    manifest = client.get("/v2/acme/vpc/aws/manifests/1.2.0")
    assert found[f"{settings.PUBLIC_HOST}/acme/vpc/aws 1.2.0"] == sha256(manifest.content)
    assert len(found) == 2
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["predicateType"] == "https://slsa.dev/provenance/v1"


@pytest.mark.both
def test_the_subjects_of_a_provider_are_all_that_clients_download(acme, dora, alice, bob, tofu, state):
    hold(acme, dora)
    files = zips()
    DraftClient(tofu(alice)).publish(files, protocols=["5.0"])
    found = {one["name"]: one["digest"]["sha256"] for one in said_in(state(Release.objects.get()))["subject"]}
    client = tofu(bob)
    for name, data in files.items():
        assert found.pop(name) == sha256(data)
    where = client.get("/v1/providers/acme/dns/1.2.0/download/linux/amd64").json()["shasums_url"]
    sums = b"".join(client.get(where).streaming_content)
    assert found.pop("terraform-provider-dns_1.2.0_SHA256SUMS") == sha256(sums)
    repository = f"providers/{urlsplit(settings.PUBLIC_URL).hostname}/acme/dns"
    index = client.get(f"/v2/{repository}/manifests/1.2.0").content
    assert found.pop(f"{settings.PUBLIC_HOST}/{repository} 1.2.0") == sha256(index)
    for one in json.loads(index)["manifests"]:
        platform = f"{one['platform']['os']}_{one['platform']['architecture']}"
        name = f"{settings.PUBLIC_HOST}/{repository} 1.2.0 {platform}"
        assert f"sha256:{found.pop(name)}" == one["digest"]
    assert found == {}


@for_each_row("algorithm", ["sha256", "sha512"])
def test_a_pushed_module_is_named_by_the_digest_that_serves_it(pantry, alice, tofu, work, state, algorithm):
    one = Repo(tofu(alice), "pantry/vpc/aws")
    for data in (b"{}", ZIP):
        one.blob(data)
    one.put(RAW, "1.2.0")
    work()
    release = Release.objects.get()
    assert release.state == "published"
    if algorithm == "sha512":  # as of a client that addresses its manifest so
        release.module_version.manifest_digest = f"sha512:{hashlib.sha512(RAW).hexdigest()}"
        release.module_version.save(update_fields=["manifest_digest"])
    said = said_in(state(release))
    digests = [one["digest"] for one in said["subject"]]
    assert digests == [{"sha256": sha256(ZIP)}, {algorithm: hashlib.new(algorithm, RAW).hexdigest()}]
    assert said["predicate"]["larder_origin"] == {"strength": "oci-push", "way": "oci", "others": 0}


def test_a_provider_of_an_older_larder_has_its_manifests_too(acme, dora, alice, tofu, worker_host):
    hold(acme, dora)
    DraftClient(tofu(alice)).publish(zips(), protocols=["5.0"])
    release = Release.objects.get()
    before = subjects.of_release(release)
    version = release.provider_version
    type(version).objects.update(index_digest="")
    version.packages.update(manifest_digest="")
    assert subjects.of_release(Release.objects.get()) == before
    assert all(one.sha256 for one in before)


# --- The publication --------------------------------------------------------------------------------------------------


def test_the_statement_names_larder_as_the_publisher_and_the_bytes_as_they_came(published, monkeypatch):
    monkeypatch.setattr(settings, "PUBLIC_URL", "https://larder.test")
    release = published(data=gz(module_tar(MODULE, top="vpc-1.2.0/")))
    assert release.digest != release.uploaded_digest  # it was repacked
    found = predicate_of(release)
    definition, run = found["buildDefinition"], found["runDetails"]
    assert definition["buildType"] == "https://larder.test/help/statements#publication-v1"
    assert definition["externalParameters"] == {"address": "acme/vpc/aws", "kind": "module", "version": "1.2.0"}
    assert definition["internalParameters"] == {
        "release": str(release.public_id),
        "served": {"sha256": release.digest},
        "folder": "",
        "was_repacked": True,
    }
    [upload] = definition["resolvedDependencies"]
    assert upload == {"name": "upload", "digest": {"sha256": release.uploaded_digest}}
    assert run["builder"] == {"id": "https://larder.test"}
    assert run["metadata"]["invocationId"] == f"urn:uuid:{release.public_id}"
    assert run["metadata"]["startedOn"] <= run["metadata"]["finishedOn"]
    assert run["metadata"]["finishedOn"].endswith("Z")


def test_the_same_release_is_always_stated_in_the_same_bytes(published):
    release = published()
    first, second = (statements.encoded(statements.payload_of(Release.objects.get())) for _ in range(2))
    assert first == second
    assert b" " not in first.partition(b'"larder_origin"')[0].replace(b"acme/vpc/aws 1.2.0", b"")
    assert digest_of(first) == digest_of(json.dumps(json.loads(first), sort_keys=True, separators=(",", ":")).encode())
    assert release.kind == Kind.MODULE


# --- Strength ---------------------------------------------------------------------------------------------------------


@for_each_row(("way", "expected"), [(Way.PAGE, "person"), (Way.API, "token"), (Way.OCI, "oci-push")])
def test_what_is_not_verified_says_so(published, way, expected):
    release = published()
    Origin.objects.filter(release=release).update(way=way)
    found = predicate_of(release)["larder_origin"]
    assert found["strength"] == expected
    assert "claims" not in found


def test_an_old_release_says_what_was_not_recorded(published, state):
    release = published()
    Origin.objects.filter(release=release).delete()
    Release.objects.filter(pk=release.pk).update(uploaded_digest="", received_at=None)
    found = predicate_of(release)
    assert found["larder_origin"] == {"strength": "not-recorded"}
    assert found["larder_approval"] is None
    assert found["buildDefinition"]["resolvedDependencies"] == []
    assert found["runDetails"]["metadata"]["startedOn"]  # the reservation


@pytest.mark.both
@for_each_row("kind", SHAPES)
def test_verified_claims_of_each_vendor_are_stated(published, kind):
    found = from_ci(published(), kind)
    origin = found["larder_origin"]
    assert (origin["strength"], origin["vendor"]) == ("verified-claims", kind)
    assert origin["facts"]["run"]
    assert origin["claims"]
    run = origin["links"].get("run")
    assert found["runDetails"]["metadata"]["invocationId"] == (run or found["runDetails"]["metadata"]["invocationId"])
    assert run is None or run.startswith("https://")


def test_the_commit_of_verified_claims_is_a_dependency_that_larder_has_not_read(published):
    release = published()
    found = from_ci(release, "github")
    [_, commit] = found["buildDefinition"]["resolvedDependencies"]
    assert commit["uri"] == "git+https://github.com/acme/vpc@refs/tags/v1.2.0"
    assert commit["digest"] == {"gitCommit": COMMIT}
    assert "not read" in commit["annotations"]["larder_basis"]
    assert found["runDetails"]["metadata"]["invocationId"] == "https://github.com/acme/vpc/actions/runs/971"
    assert found["larder_origin"]["claims"]["repository_id"] == "1"
    assert found["larder_origin"]["facts"]["workflow"].startswith("acme/vpc/.github/workflows/release.yml@")
    for other in ("HEAD", "", COMMIT[:-1], f"{COMMIT}\n", f"{COMMIT}0"):
        named = from_ci(release, "github", sha=other)["buildDefinition"]["resolvedDependencies"]
        assert [one["name"] for one in named] == ["upload"], other


def test_claims_that_were_not_verified_are_not_stated(published):
    """A row without the vendor is that of a token; others sent a part of the bytes of a mixed one."""
    release = published()
    from_ci(release, "github")
    Origin.objects.filter(release=release).update(others=[{"by": 1, "way": "api", "token_label": "mine", "facts": {}}])
    found = predicate_of(release)
    assert found["larder_origin"] == {"strength": "token", "way": "api", "others": 1}
    assert [one.get("uri") for one in found["buildDefinition"]["resolvedDependencies"]] == [None]
    assert found["runDetails"]["metadata"]["invocationId"].startswith("urn:uuid:")


def test_every_strength_is_in_the_manual():
    from tests.house.sources import CHECKOUT

    manual = (CHECKOUT / "docs/statements.md").read_text()
    assert [one for one in strengths.Strength.values if f"`{one}`" not in manual] == []


# --- People -----------------------------------------------------------------------------------------------------------


@for_each_row("kind", SHAPES)
def test_no_person_is_in_a_statement(published, alice, bob, kind):
    """Anonymous readers of a public namespace read it, and it outlives the account: no name, no number, no label."""
    release, now = published(), timezone.now()
    people = {"actor": "alice-gh", "actor_id": "4711", "user_login": "alice-gl", "user_email": "alice@example.org"}
    given = {"decision": "approved", "decided_at": now, "decided_by": bob, "asked_at": now, "until": now}
    Approval.objects.create(release=release, digest=release.digest, reason="Bob says yes.", **given)
    found = from_ci(release, kind, **people, user_id="4711", preferred_username="alice", sub="alice")
    Origin.objects.filter(release=release).update(token_label="of alice")
    text = json.dumps(predicate_of(release) | found).lower()
    assert [name for name in ("alice", "bob", "4711", "of alice") if name in text] == []


# --- Approval ---------------------------------------------------------------------------------------------------------


@for_each_row(
    ("changes", "expected"),
    [
        ({}, "a person other than the author"),
        ({"token_id": 7}, "the API token of another account"),
        ({"decision": "waiting", "decided_at": None}, None),
        ({"decision": "declined"}, None),
        ({"digest": "ab" * 32}, None),
    ],
)
def test_an_approval_is_stated_for_these_very_bytes_alone(published, bob, changes, expected):
    release = published()
    at = timezone.now().replace(microsecond=0)
    row = {"digest": release.digest, "decision": "approved", "decided_at": at, "decided_by": bob}
    Approval.objects.create(release=release, asked_at=at, until=at, has_second_factor=True, **(row | changes))
    found = predicate_of(release)["larder_approval"]
    if expected is None:
        assert found is None
        return
    assert found == {
        "by": expected,
        "digest": {"sha256": release.digest},
        "approvedOn": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "secondFactor": True,
    }
