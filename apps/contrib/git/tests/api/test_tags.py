"""…/repositories/<id>/sync, /tags and /tags/retry: what became of each tag, and why."""

from datetime import UTC, datetime

import pytest
from django.utils import timezone

from apps.accounts.models import Scope
from apps.contrib.git.models import Tag, Verdict
from apps.contrib.git.tests.api.conftest import URL
from apps.contrib.git.tests.conftest import work_off
from apps.releases.models import Release
from tests.rows import for_each_row


def tags(call, user, one, query=""):
    answer = call(user).get(f"/{one['id']}/tags{query}")
    assert answer.status_code == 200, answer.content
    return {tag["tag"]: tag for tag in answer.json()["tags"]}


def test_each_tag_has_a_verdict_with_its_reason_commit_and_release_and_is_found_by_verdict_and_words(
    synced, call, alice, upstream, dora
):
    found = tags(call, alice, synced)

    assert {name: tag["verdict"] for name, tag in found.items()} == {
        "v1.0.0": "published",
        "v1.1.0": "refused",
        "nightly": "ignored",
    }
    one, release = found["v1.0.0"], Release.objects.get()
    assert one["commit"] == one["published_commit"] == upstream.run("rev-parse", "v1.0.0")
    assert (one["module"], one["version"], one["folder"], one["code"]) == ("vpc/aws", "1.0.0", "", "")
    assert one["release"] == {
        "id": str(release.public_id),
        "address": "acme/vpc/aws",
        "version": "1.0.0",
        "state": "published",
        "url": f"https://127.0.0.1:8443/releases/{release.public_id}",
    }
    assert "big.bin" in found["v1.1.0"]["reason"]
    assert (found["v1.1.0"]["code"], found["v1.1.0"]["release"]) == ("lfs", None)
    assert found["nightly"]["reason"] == "It does not match v{version}."
    assert list(tags(call, alice, synced, "?verdict=refused")) == ["v1.1.0"]
    assert list(tags(call, alice, synced, "?q=night")) == ["nightly"]
    assert tags(call, alice, synced, "?verdict=held") == {}
    answer = call(alice).get(f"/{synced['id']}/tags?verdict=lost")
    assert (answer.status_code, "waiting" in answer.json()["error"]["hint"]) == (422, True)
    counts = call(dora).get(f"/{synced['id']}").json()["tags"]
    assert counts == dict.fromkeys(Verdict.values, 0) | {"published": 1, "refused": 1, "ignored": 1}


@pytest.mark.both
@for_each_row(
    ("verdict", "state", "at"),
    [
        ("published", "published", "2026-03-03T03:00:00Z"),  # not when it was fetched, judged or listed
        ("published", "rejected", "2026-02-02T02:00:00Z"),  # its release was, afterwards
        ("moved", "published", "2026-01-01T01:00:00Z"),
        ("waiting", "", "2026-01-01T01:00:00Z"),
    ],
)
def test_a_tag_changed_when_its_version_was_published(call, dora, connected, published, verdict, state, at):
    Tag.objects.all().delete()
    release = Release.objects.first() or published("acme/vpc/aws", "1.0.0")
    Release.objects.filter(pk=release.pk).update(
        state=state or "published",
        finished_at=datetime(2026, 2, 2, 2, tzinfo=UTC),
        published_at=None if state == "rejected" else datetime(2026, 3, 3, 3, tzinfo=UTC),
    )
    Tag.objects.create(
        repository_id=connected["id"],
        name="v1.0.0",
        module="vpc/aws",
        version="1.0.0",
        commit="a" * 40,
        verdict=verdict,
        release=release if state else None,
        seen_at=timezone.now(),
        changed_at=datetime(2026, 1, 1, 1, tzinfo=UTC),
    )

    assert tags(call, dora, connected)["v1.0.0"]["changed_at"] == at


@pytest.mark.both
def test_the_list_costs_the_same_at_any_length(connected, published, in_pages, tofu, dora):
    release = published("acme/vpc/aws", "1.0.0")
    now = timezone.now()
    for number in range(9):
        Tag.objects.create(
            repository_id=connected["id"],
            name=f"v2.{number}.0",
            module="vpc/aws",
            version=f"2.{number}.0",
            commit="a" * 40,
            verdict="published",
            release=release,
            seen_at=now,
            changed_at=now,
        )

    rows = in_pages(tofu(dora), f"{URL}/{connected['id']}/tags", queries=4, size=4)
    assert len({tag["tag"] for tag in rows}) == len(rows) == 9


def test_publishers_retry_a_tag_and_see_that_it_waits(synced, call, alice):
    answer = call(alice, Scope.PUBLISH).post(f"/{synced['id']}/tags/retry", tag="v1.1.0")

    assert (answer.status_code, answer.json()["verdict"], answer.json()["code"]) == (202, "waiting", "")
    work_off()
    assert tags(call, alice, synced)["v1.1.0"]["code"] == "lfs"  # the commit is the same


@for_each_row(
    ("fields", "status", "said"),
    [
        ({"tag": "v1.0.0"}, 409, "is published: it cannot be tried again"),
        ({"tag": "nightly"}, 409, "is ignored: it cannot be tried again"),
        ({"tag": "v9.9.9"}, 404, "There is no tag 'v9.9.9'."),
        ({"tag": "v1.1.0", "module": "vpc/azure"}, 404, "There is no tag 'v1.1.0' of vpc/azure."),
        ({}, 422, "tag: This field is required."),
    ],
)
def test_what_cannot_be_tried_again_says_why(synced, call, alice, fields, status, said):
    answer = call(alice).post(f"/{synced['id']}/tags/retry", **fields)

    assert (answer.status_code, said in answer.json()["error"]["message"]) == (status, True), answer.json()
    assert answer.json()["error"]["hint"]


@pytest.mark.slow
def test_a_tag_of_several_modules_is_tried_again_for_one(connected, call, dora, upstream):
    rules = [{"tag": "v{version}", "folder": folder, "module": f"{folder}/aws"} for folder in ("vpc", "dns")]
    call(dora).send("PATCH", f"/{connected['id']}", rules=rules)
    upstream.commit({"vpc/main.tf": "# vpc\n", "README.md": "# Both\n"})
    upstream.tag("v1.0.0")
    call(dora).post(f"/{connected['id']}/sync")
    work_off()
    refused = Tag.objects.get(module="dns/aws")
    assert (refused.verdict, refused.code) == ("refused", "folder_missing")

    unclear = call(dora).post(f"/{connected['id']}/tags/retry", tag="v1.0.0")
    assert (unclear.status_code, unclear.json()["error"]["hint"]) == (409, "Send `module`: dns/aws, vpc/aws.")
    assert call(dora).post(f"/{connected['id']}/tags/retry", tag="v1.0.0", module="dns/aws").status_code == 202


def test_a_sync_without_rules_says_so(call, dora, site, upstream):
    one = call(dora).post(url=site.url_of("acme/terraform-aws-vpc")).json()
    answer = call(dora).post(f"/{one['id']}/sync")

    assert (answer.status_code, answer.json()["error"]["hint"]) == (409, "Add a rule first.")
