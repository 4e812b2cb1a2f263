"""Artifacts that somebody attached to a version, and tags that are no versions, on the module's pages."""

import html
import re

import pytest
from django.test import Client

from apps.artifacts.models import Manifest, Tag
from tests import pages
from tests.oci.manifests.documents import Repo, attached, digest_of, image

NAME = "pantry/vpc/aws"
PAGE = f"/modules/{NAME}/1.2.0"
VERSIONS = f"/modules/{NAME}/versions"


@pytest.fixture
def repo(alice, tofu):
    return Repo(tofu(alice), NAME)


def text_of(client: Client, url: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", client.get(url).content.decode())).split())


@pytest.mark.both
def test_a_version_shows_what_is_attached_to_it_and_how_it_is_fetched(client, browser_of, alice, published, repo):
    published(NAME, "1.2.0")
    sbom = repo.push(attached(repo.get("1.2.0").content))
    page = text_of(client, PAGE)

    assert "Attached by the publishers of this module" in page
    assert "SBOM (CycloneDX) 2 bytes, just now application/vnd.cyclonedx+json" in page
    assert re.search(rf"oras pull \S+/{NAME}@{sbom}", page)
    assert "by Alice" not in page, "who pushed it is said to members"
    assert f"by {alice.shown_name}" in text_of(browser_of(alice), PAGE).split("Attached", 1)[1]

    served = repo.head("1.2.0").headers["Docker-Content-Digest"]
    signature = repo.push(image(b"signed"), served.replace(":", "-") + ".sig", b"signed")
    page = text_of(client, PAGE)
    assert "Signature (cosign) 8 bytes, just now tag sha256-….sig" in page, "older clients attach by a tag"
    assert signature in page
    assert ".sig" not in text_of(client, VERSIONS), "it is no tag for people"


def test_nothing_is_shown_where_nothing_is_attached_in_this_repository(client, published, repo, alice, tofu):
    published(NAME, "1.2.0")
    published(NAME, "1.3.0")
    repo.push(attached(repo.get("1.3.0").content))
    Repo(tofu(alice), "pantry/other/aws").push(attached(repo.get("1.2.0").content))

    assert "Attached" not in text_of(client, PAGE)
    assert "Other tags" not in text_of(client, VERSIONS)


def test_other_tags_are_listed_with_who_moved_them(browser_of, client, alice, published, repo):
    published(NAME, "1.2.0")
    first = repo.push(image(), "main")
    moved = repo.push(image(b"x"), "main", b"x")
    repo.push(image(), "v1")
    page, seen = text_of(browser_of(alice), VERSIONS), text_of(client, VERSIONS)

    tags = page.split("Other tags", 1)[1]
    assert re.search(rf"main {moved}.* {re.escape(alice.shown_name)}", tags)
    assert f"v1 {first}" in " ".join(tags.split())
    assert "Other tags" in seen
    assert alice.shown_name not in seen.split("Other tags", 1)[1]


def test_many_cost_as_many_queries_as_few(client, published, repo):
    published(NAME, "1.2.0")
    subject = repo.get("1.2.0").content
    repo.push(attached(subject), "one")
    counts = [pages.queries_of(client, url) for url in (PAGE, VERSIONS)]
    row = Manifest.objects.get()
    rows = [clone(row, number) for number in range(60)]
    Manifest.objects.bulk_create(rows)
    Tag.objects.bulk_create(Tag(repository=row.repository, name=f"t{n}", manifest=one) for n, one in enumerate(rows))

    assert [pages.queries_of(client, url) for url in (PAGE, VERSIONS)] == counts
    assert "The newest 20" in text_of(client, PAGE)
    assert "the 50 that moved last" in text_of(client, VERSIONS)


def clone(row: Manifest, number: int) -> Manifest:
    raw = b"%d" % number
    return Manifest(
        repository=row.repository,
        digest=digest_of(raw),
        media_type=row.media_type,
        artifact_type=row.artifact_type,
        subject=row.subject,
        size=len(raw),
        raw=raw,
    )
