"""Tags: many at once by parameter, lists in pages, and tags that move."""

import pytest

from tests.oci.conformance.conftest import NAMESPACE
from tests.oci.conformance.content import Bundle
from tests.oci.conformance.registry import Registry, location

pytestmark = pytest.mark.live


@pytest.fixture
def shelf(http, dance):
    """A repository of its own, where nobody else's tags are listed."""
    return Registry(http, f"{NAMESPACE}/shelf/aws", dance)


def test_ten_tags_come_with_one_manifest(shelf, checks_of):
    checks, document = checks_of("tag parameters"), Bundle("tag parameters").index([])
    tags = [f"at-once-{number}" for number in range(10)]

    answer = shelf.push(document, document.digest, params={"tag": tags})

    checks.equal(answer.status_code, 201, "the push")
    told = [tag.strip() for line in answer.headers.get_list("OCI-Tag") for tag in line.split(",")]
    checks.equal(sorted(told), sorted(tags), "the tags that were taken")
    for tag in tags:
        found = shelf.ask("HEAD", f"manifests/{tag}")
        checks.equal(found.headers["Docker-Content-Digest"], document.digest, f"what {tag} names")
    checks.equal(shelf.ask("DELETE", f"manifests/{document.digest}").status_code, 202, "deleting by digest")
    for tag in tags:
        checks.equal(shelf.ask("HEAD", f"manifests/{tag}").status_code, 404, f"{tag} goes with it")


def test_lists_come_in_pages(http, dance, checks_of):
    checks, shelf = checks_of("tag lists"), Registry(http, f"{NAMESPACE}/pages/aws", dance)
    document = Bundle("tag lists").index([])
    tags = sorted(["a", "B", "b", "c-1", "C", "_z", "main", "v1.0.0"])
    checks.equal(shelf.push(document, document.digest, params={"tag": tags}).status_code, 201, "the push")

    checks.equal(shelf.tags(), tags, "all of them")
    checks.equal(shelf.tags(n=3), tags[:3], "the first three")
    checks.equal(shelf.tags(n=3, last=tags[2]), tags[3:6], "the three after them")
    checks.equal(shelf.tags(last=tags[4]), tags[5:], "the rest")
    checks.equal(shelf.tags(last="zzz"), [], "beyond the last")
    checks.equal(shelf.tags(n=100), tags, "more than there are")
    none = shelf.ask("GET", "tags/list", params={"n": 0})
    checks.equal((none.status_code, none.json()["tags"], "Link" in none.headers), (200, [], False), "n=0")

    found, answer = [], shelf.ask("GET", "tags/list", params={"n": 3})
    for _ in range(len(tags)):
        found += answer.json()["tags"]
        if "next" not in answer.links:
            break
        answer = shelf.ask("GET", answer.url.join(answer.links["next"]["url"]))
    checks.equal(found, tags, "the pages that Link leads through")
    shelf.ask("DELETE", f"manifests/{document.digest}")


def test_a_tag_moves(shelf, checks_of):
    checks, bundle = checks_of("tag lists"), Bundle("moving")
    first, second = bundle.index([]), bundle.index([], annotations={"org.example": "second"})

    for document in (first, second, first):
        checks.equal(shelf.push(document, "moving").status_code, 201, "the push")
        checks.equal(shelf.ask("GET", "manifests/moving").content, document.raw, "what the tag names")
    for document in (first, second):
        checks.equal(shelf.ask("DELETE", f"manifests/{document.digest}").status_code, 202, "the deleting")


def test_a_push_says_where_to_pull(shelf, checks_of):
    checks, document = checks_of("tag lists"), Bundle("where").index([])

    where = location(shelf.push(document, "where"))

    checks.equal(shelf.ask("GET", where).content, document.raw, "what lies there")
    checks.equal(shelf.ask("DELETE", f"manifests/{document.digest}").status_code, 202, "the deleting")
