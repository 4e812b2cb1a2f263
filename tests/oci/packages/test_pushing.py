"""A module package that is pushed under a version becomes a release. No worker runs beside these tests, so a push is
told to come again (503), a worker works, and the same push again says how it went: the way of slow checks.
"""

import hashlib
import json
from datetime import timedelta

import pytest

from apps.accounts.access import Viewer
from apps.accounts.models import Scope
from apps.audit.models import AuditEvent
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from apps.modules.models import ModuleVersion
from apps.oci import packages
from apps.releases.models import Release
from tests.builders.archives import module_zip
from tests.builders.zips import Member, build
from tests.oci.manifests.documents import SBOM, code_of, digest_of, image, index, package

NAME = "pantry/vpc/aws"
ZIP = module_zip()
RAW = package(ZIP)
LATER = package(ZIP, annotations={"org.opencontainers.image.created": "2026-11-21T12:00:00Z"})


@pytest.fixture(autouse=True)
def impatient(settings):
    settings.OCI_PUBLISH_WAIT = timedelta(0)


@pytest.fixture
def push(pusher, work):
    """`push(raw, tag, archive)`: the answer of the second push, when a worker has looked at it."""

    def pushed(raw: bytes = RAW, tag: str = "1.2.0", archive: bytes = ZIP, name: str = NAME, **more):
        one = pusher(name, **more)
        for data in (b"{}", archive):
            one.blob(data)
        first = one.put(raw, tag)
        if first.status_code != 503:
            return first
        assert code_of(first) == (503, "UNAVAILABLE")
        assert first.headers["Retry-After"]
        work()
        return one.put(raw, tag)

    return pushed


def listed(client, name: str = NAME) -> list[str]:
    document = client.get(f"/v1/modules/{name}/versions").json()
    return [one["version"] for one in document["modules"][0]["versions"]]


def said(answer) -> str:
    return answer.json()["errors"][0]["message"]


def test_it_is_a_release_like_any_other_and_stays_the_manifest_that_was_pushed(push, pusher, client):
    answer = push(LATER)

    assert answer.status_code == 201
    assert answer.headers["Docker-Content-Digest"] == digest_of(LATER)
    one = pusher(NAME)
    assert one.get("1.2.0").content == one.get(digest_of(LATER)).content == one.get("latest").content == LATER
    assert one.tags().json()["tags"] == ["1.2.0", "latest"]
    assert listed(client) == ["1.2.0"]
    release = Release.objects.get(state="published")
    assert release.digest == release.uploaded_digest == hashlib.sha256(ZIP).hexdigest()
    version = ModuleVersion.objects.get(release=release)
    assert version.manifest_digest == digest_of(LATER)
    assert version.inspection["units"][0]["variables"][0]["name"] == "name"
    kinds = list(AuditEvent.objects.filter(subject=f"{NAME} 1.2.0").order_by("pk").values_list("kind", flat=True))
    assert [kind.rpartition(":")[2] for kind in kinds] == ["reserved", "received", "published"]


def test_the_registry_protocol_gives_out_the_very_zip(push, client):
    assert push().status_code == 201

    location = client.get(f"/v1/modules/{NAME}/1.2.0/download").json()["location"]

    assert f"checksum=sha256:{hashlib.sha256(ZIP).hexdigest()}" in location


def test_build_metadata_comes_with_an_underscore(push, client):
    assert push(tag="1.2.0_build.5").status_code == 201
    assert listed(client) == ["1.2.0+build.5"]


@pytest.mark.parametrize("tag", ["v1.2.0", "1.2", "01.2.3", "main", "x" * 128])
def test_other_tags_are_ordinary_ones(push, pusher, client, tag):
    answer = push(tag=tag)

    assert answer.status_code == 201
    assert answer.headers["Warning"].startswith('299 - "')
    assert "not a strict semantic version" in answer.headers["Warning"]
    assert not Release.objects.exists()
    assert pusher(NAME).get(tag).content == RAW


@pytest.mark.once
@pytest.mark.parametrize(
    ("tag", "is_one"),
    [("1.2.0", True), ("1.2.0-rc.1", True), ("1.2.0_b.5", True), ("1.2.0-rc.1_b", True)]
    + [(tag, False) for tag in ("v1.2.0", "1.2", "01.2.3", "latest", "1.2.0_", "1.2.0_a_b", "x" * 129)],
)
def test_which_tags_are_versions(tag, is_one):
    assert packages.is_release_tag(tag) is is_one


def test_the_same_push_again_is_welcome_and_changes_nothing(push):
    assert push().status_code == 201
    events = AuditEvent.objects.filter(kind__contains=":release:").count()

    assert push().status_code == 201
    assert Release.objects.count() == 1
    assert AuditEvent.objects.filter(kind__contains=":release:").count() == events


def test_case_20_the_same_zip_under_another_manifest_is_refused_with_what_to_do(push, pusher):
    assert push().status_code == 201

    answer = push(LATER)

    assert code_of(answer) == (409, "DENIED")
    assert "org.opencontainers.image.created" in said(answer)
    assert digest_of(RAW) in said(answer)
    assert pusher(NAME).get("1.2.0").content == RAW


def test_other_bytes_under_a_published_version_are_refused_with_its_digest(push, pusher):
    assert push().status_code == 201
    other = module_zip(comment=b"other")

    answer = push(package(other), archive=other)

    assert code_of(answer) == (409, "DENIED")
    assert digest_of(RAW) in said(answer)
    assert pusher(NAME).get("1.2.0").content == RAW


def test_a_number_that_is_being_checked_with_other_bytes_is_refused_at_once(pusher, work):
    one, other = pusher(NAME), module_zip(comment=b"other")
    for data in (b"{}", ZIP, other):
        one.blob(data)
    assert one.put(RAW, "1.2.0").status_code == 503

    answer = one.put(package(other), "1.2.0")

    assert code_of(answer) == (409, "DENIED")
    assert hashlib.sha256(ZIP).hexdigest() in said(answer)
    work()
    assert one.put(RAW, "1.2.0").status_code == 201


def test_a_version_of_another_door_takes_its_own_manifest_and_no_other(push, pusher, published):
    published(NAME, "1.2.0", data=ZIP)
    own = pusher(NAME).get("1.2.0").content

    assert push(own).status_code == 201
    assert code_of(push(RAW)) == (409, "DENIED")
    assert pusher(NAME).get("1.2.0").content == own


def test_build_metadata_alone_makes_no_other_version(push):
    assert push(tag="1.2.0_a").status_code == 201

    answer = push(LATER, tag="1.2.0_b")

    assert code_of(answer) == (409, "DENIED")
    assert "1.2.0+a" in said(answer)


def _in_a_folder() -> bytes:
    return module_zip({"vpc-1.2.0/main.tf": "", "vpc-1.2.0/README.md": "# vpc\n"})


def _with_state() -> bytes:
    return module_zip({"main.tf": "", "terraform.tfstate": "{}"})


def _slipping() -> bytes:
    return build([Member("main.tf", b""), Member("../../etc/passwd", b"x")])


REFUSED = {
    "no module": (lambda: module_zip({"README.md": "# nothing\n"}), "no .tf or .tofu file"),
    "in a folder": (_in_a_folder, "all files in the folder vpc-1.2.0/"),
    "with state": (_with_state, "terraform.tfstate"),
    "zip slip": (_slipping, "etc/passwd"),
    "no archive": (lambda: b"just some text", "expected"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("tag", ["1.2.0", "latest"])
def test_what_no_other_door_would_take_unchanged_is_refused_with_the_reasons(push, pusher, client, what, tag):
    make, words = REFUSED[what]
    archive = make()

    answer = push(package(archive), archive=archive, tag=tag)

    assert code_of(answer) == (400, "MANIFEST_INVALID")
    assert words in said(answer)
    assert code_of(pusher(NAME).get(tag)) == (404, "MANIFEST_UNKNOWN")
    assert not Release.objects.filter(state="published").exists()


def test_a_refused_number_is_free_for_a_better_package(push):
    bad = _in_a_folder()
    assert code_of(push(package(bad), archive=bad))[0] == 400

    assert push().status_code == 201


@pytest.mark.parametrize(
    "raw",
    [
        image(ZIP, layer_type="archive/zip", artifactType=SBOM),
        image(ZIP, layer_type="application/zip", artifactType="application/vnd.opentofu.modulepkg"),
        image(ZIP, b"two", layer_type="archive/zip", artifactType="application/vnd.opentofu.modulepkg"),
        index(artifactType="application/vnd.opentofu.modulepkg"),
    ],
    ids=["an SBOM", "another zip", "two layers", "an index"],
)
def test_nothing_but_a_module_package_may_have_a_version_for_its_tag(pusher, raw):
    one = pusher(NAME)
    for data in (b"{}", ZIP, b"two"):
        one.blob(data)

    answer = one.put(raw, "1.2.0")

    assert code_of(answer) == (400, "MANIFEST_INVALID")
    assert "1.2.0 is a version" in said(answer)
    assert not Release.objects.exists()


def test_the_seeds_push_to_latest_is_checked_and_is_what_latest_means(push, pusher, client):
    answer = push(tag="latest")

    assert answer.status_code == 201
    assert pusher(NAME).get("latest").content == RAW
    assert not Release.objects.exists()


def test_an_upload_that_somebody_does_in_the_browser_holds_the_number(push, alice, dora, browser_of):
    fields = {"namespace": "acme", "name": "vpc", "system": "aws", "version": "1.2.0"}
    begun = browser_of(dora).post("/publish", fields, headers={"Accept": "application/json"})
    assert begun.status_code < 400, begun.content
    assert Release.objects.filter(state="receiving").exclude(ticket_digest="").count() == 1

    answer = push(name="acme/vpc/aws")

    assert code_of(answer) == (409, "DENIED")
    assert "in the browser" in said(answer)


def test_a_removed_number_is_never_used_again(push, olga, client):
    assert push().status_code == 201
    lifecycle.purge(
        viewer=Viewer(olga),
        address=ModuleAddress.parse(NAME),
        version="1.2.0",
        reason="It has a key.",
        confirm=f"{NAME} 1.2.0",
    )
    other = module_zip(comment=b"other")

    answer = push(package(other), archive=other)

    assert code_of(answer) == (409, "DENIED")
    assert "It has a key." in said(answer)


def test_a_full_namespace_takes_no_package(push, pantry):
    pantry.quota_versions = 1
    pantry.save()
    assert push().status_code == 201
    other = module_zip(comment=b"other")

    answer = push(package(other), tag="1.3.0", archive=other)

    assert code_of(answer) == (413, "SIZE_INVALID")
    assert push().status_code == 201  # what is there costs no more


@pytest.mark.parametrize(
    ("who", "expected"),
    [("bob", (403, "DENIED")), ("charlie", (404, "NAME_UNKNOWN"))],
    ids=["bob", "charlie"],
)
def test_only_publishers_push(request, pusher, tofu, who, expected):
    one = pusher("acme/vpc/aws", user=request.getfixturevalue(who))

    assert code_of(one.put(RAW, "1.2.0")) == expected


def test_a_token_for_another_name_pushes_nothing_here(pusher, alice, bearer, client):
    headers = bearer(alice, Scope.PUBLISH, only_name="dns/aws")

    answer = client.generic(
        "PUT", f"/v2/{NAME}/manifests/1.2.0", RAW, content_type=json.loads(RAW)["mediaType"], headers=headers
    )

    assert code_of(answer) == (403, "DENIED")
