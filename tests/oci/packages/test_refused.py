"""Packages that are refused, and numbers that are taken: the push is answered with the reason and a hint."""

import hashlib
import stat

import pytest

from apps.releases.models import Release
from tests.builders.archives import module_zip
from tests.builders.zips import Member, build, zeros_bomb
from tests.oci.manifests.documents import SBOM, code_of, digest_of, image, index, package
from tests.oci.packages.samples import LATER, NAME, RAW, ZIP, purge, said
from tests.rows import for_each_row

OTHER = module_zip(comment=b"other")


def test_case_20_another_manifest_or_zip_under_a_published_number_is_refused_also_when_it_is_removed(
    push, pusher, olga
):
    assert push().status_code == 201

    same_zip, other_zip = push(LATER), push(package(OTHER), archive=OTHER)

    assert code_of(same_zip) == code_of(other_zip) == (409, "DENIED")
    assert "org.opencontainers.image.created" in said(same_zip), "what to do"
    assert digest_of(RAW) in said(same_zip)
    assert digest_of(RAW) in said(other_zip)
    assert pusher(NAME).get("1.2.0").content == RAW
    purge(olga, "1.2.0")
    removed = push(package(OTHER), archive=OTHER)
    assert code_of(removed) == (409, "DENIED")
    assert "It has a key." in said(removed)


def test_a_number_that_is_being_checked_with_other_bytes_is_refused_at_once(pusher, work):
    one = pusher(NAME)
    for data in (b"{}", ZIP, OTHER):
        one.blob(data)
    assert one.put(RAW, "1.2.0").status_code == 503

    answer = one.put(package(OTHER), "1.2.0")

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


def _with_a_link() -> bytes:
    link = Member("modules/dns/main.tf", b"../../main.tf", mode=stat.S_IFLNK | 0o777)
    return build([Member("main.tf", b"locals {}\n"), link])


REFUSED = {
    "no module": (lambda: module_zip({"README.md": "# nothing\n"}), "no .tf or .tofu file"),
    "in a folder": (
        lambda: module_zip({"vpc-1.2.0/main.tf": "", "vpc-1.2.0/README.md": "# vpc\n"}),
        "all files in the folder vpc-1.2.0/",
    ),
    "with state": (lambda: module_zip({"main.tf": "", "terraform.tfstate": "{}"}), "terraform.tfstate"),
    "with a link": (_with_a_link, "links: modules/dns/main.tf"),
    "zip slip": (lambda: build([Member("main.tf", b""), Member("../../etc/passwd", b"x")]), "etc/passwd"),
    "zip bomb": (lambda: zeros_bomb(65 * 2**20), "50 times the packed size"),
    "nobody loads it": (
        lambda: module_zip({"main.tf": 'variable "a" {}\n' * 2}),
        "is already declared in main.tf, line 1",
    ),
    "no archive": (lambda: b"just some text", "expected"),
}


@pytest.mark.slow
@for_each_row(("what", "tag"), [*((what, "1.2.0") for what in REFUSED), ("with state", "latest")])
def test_what_no_other_door_would_take_unchanged_is_refused_with_the_reasons(push, pusher, client, what, tag):
    make, words = REFUSED[what]
    archive = make()

    answer = push(package(archive), archive=archive, tag=tag)

    assert code_of(answer) == (400, "MANIFEST_INVALID")
    assert words in said(answer)
    assert code_of(pusher(NAME).get(tag)) == (404, "MANIFEST_UNKNOWN")
    assert not Release.objects.filter(state="published").exists()
    assert push(tag=tag).status_code == 201, "the number is free for a better package"


def test_one_push_publishes_one_version(pusher):
    """Of two the first would stay where the second is refused."""
    one = pusher(NAME)
    for data in (b"{}", ZIP):
        one.blob(data)

    for reference, query in (("1.2.0", "?tag=1.3.0"), ("", "?tag=1.2.0&tag=stable&tag=1.3.0")):
        answer = one.put(RAW, reference, query=query)
        assert code_of(answer) == (400, "MANIFEST_INVALID")
        assert "1.2.0 and 1.3.0" in said(answer)
    assert not Release.objects.exists()
    assert code_of(one.get("stable")) == (404, "MANIFEST_UNKNOWN")


@for_each_row(
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


def test_an_upload_that_somebody_does_in_the_browser_holds_the_number(push, alice, dora, browser_of):
    fields = {"namespace": "acme", "name": "vpc", "system": "aws", "version": "1.2.0"}
    begun = browser_of(dora).post("/publish", fields, headers={"Accept": "application/json"})
    assert begun.status_code < 400, begun.content
    assert Release.objects.filter(state="receiving").exclude(ticket_digest="").count() == 1

    answer = push(name="acme/vpc/aws")

    assert code_of(answer) == (409, "DENIED")
    assert "in the browser" in said(answer)


def test_a_full_namespace_takes_no_package(push, pantry):
    pantry.quota_versions = 1
    pantry.save()
    assert push().status_code == 201

    assert code_of(push(package(OTHER), tag="1.3.0", archive=OTHER)) == (413, "SIZE_INVALID")
    assert push().status_code == 201  # what is there costs no more


BREAKING = module_zip({"main.tf": 'variable "name" {}\n'})
SAID = {"larder.confirm": "breaking-change", "larder.reason": "Nobody left it out."}


@for_each_row(("mode", "again"), [("ask", 201), ("refuse", 400)])
def test_a_push_cannot_be_asked_so_its_manifest_says_why_it_breaks_something(push, published, pantry, mode, again):
    published(NAME, "1.2.0", data=module_zip({"main.tf": 'variable "name" {\n  default = "x"\n}\n'}))
    type(pantry).objects.update(breaking_changes=mode)

    refused = push(package(BREAKING), "1.3.0", BREAKING)

    assert code_of(refused) == (400, "MANIFEST_INVALID")
    assert "input name (default removed: the input is now required)" in said(refused)
    assert ("larder.confirm=breaking-change" in said(refused)) == (mode == "ask")
    assert push(package(BREAKING, annotations=SAID), "1.3.0", BREAKING).status_code == again
    assert set(Release.objects.filter(version="1.3.0").values_list("breaking_reason", flat=True)) == {
        "",
        "Nobody left it out.",
    }
