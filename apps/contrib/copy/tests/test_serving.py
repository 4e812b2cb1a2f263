"""Bytes at addresses that follow from coordinates, and what operators see of the copy."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.blobs import store
from apps.contrib.copy import monitoring
from apps.contrib.copy.models import Copy, Due
from apps.releases.lifecycle import verbs
from tests.protocol.providers import cast
from tests.rows import for_each_row

MODULE = "/packages/modules/acme/vpc/aws/1.2.0.zip"


def body(answer) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def test_a_private_archive_needs_a_token_that_may_read_it(published, tofu, bob, charlie):
    release = published()

    assert len(body(tofu(bob).get(MODULE))) == release.size
    assert tofu(bob).head(MODULE).headers["Content-Length"] == str(release.size)
    assert tofu(charlie).get(MODULE).status_code == 404
    assert tofu().get(MODULE).status_code == 401


def test_a_public_archive_may_be_cached(published, pantry, tofu):
    published("pantry/vpc/aws")

    answer = tofu().get("/packages/modules/pantry/vpc/aws/1.2.0.zip")

    assert answer.status_code == 200
    assert answer.headers["Cache-Control"].startswith("public, max-age=")


def test_files_of_a_provider_have_the_names_of_its_documents(acme, tofu, bob):
    key = cast.frozen_key(acme)
    cast.add_version(key, None, "dns", "1.2.0", ["linux_amd64"])
    folder = "/packages/providers/acme/dns/1.2.0/terraform-provider-dns_1.2.0"

    for end in ("_linux_amd64.zip", "_SHA256SUMS", "_SHA256SUMS.sig"):
        assert tofu(bob).get(f"{folder}{end}").status_code == 200
    assert tofu(bob).get(f"{folder}_plan9_arm.zip").status_code == 404
    assert tofu().get(f"{folder}_SHA256SUMS").status_code == 401


@for_each_row(
    "path", [MODULE.replace(".zip", ".tar"), MODULE.replace("1.2.0", "x"), "/packages/modules/acme", "/packages/x"]
)
def test_what_is_no_package_is_refused_in_the_words_of_the_registry(path, published, tofu, bob):
    published()

    answer = tofu(bob).get(path)

    assert answer.status_code == 404
    assert "errors" in answer.json()


def test_a_quarantine_ends_it_in_every_namespace(published, pantry, tofu, bob, olga):
    release = published()
    published("pantry/vpc/aws", "9.0.0", data=b"".join(store.read(release.digest)))

    verbs.quarantine(release=release, actor=Viewer(olga), reason="It holds a key.")

    assert tofu(bob).get(MODULE).status_code == 404
    assert tofu().get("/packages/modules/pantry/vpc/aws/9.0.0.zip").status_code == 404


@pytest.fixture
def copy(tree, db) -> Copy:
    return Copy.objects.create(url=f"file://{tree}", made_as="this", current_at=timezone.now())


def figures() -> dict[str, float]:
    return {one.name: one.samples[0].value for one in monitoring.families()}


def test_metrics_say_how_far_the_copy_is_behind(copy):
    assert figures()["larder_static_copy_behind_seconds"] == 0
    row = Due.objects.create(scope="everything")
    Due.objects.filter(pk=row.pk).update(created_at=timezone.now() - timedelta(minutes=5))

    assert 299 < figures()["larder_static_copy_behind_seconds"] < 400
    assert monitoring.part_states() == {"static-copy": False}


@for_each_row(
    ("failure", "age", "state"),
    [("", timedelta(), "ok"), ("", timedelta(minutes=5), "warn"), ("The disk is full.", timedelta(), "fail")],
)
def test_the_doctor_says_what_is_wrong(failure, age, state, copy):
    Copy.objects.update(failure=failure)
    row = Due.objects.create(scope="everything")
    Due.objects.filter(pk=row.pk).update(created_at=timezone.now() - age)

    ((found, said, _),) = monitoring.look()

    assert found == state
    assert failure in said


def test_operate_names_a_copy_that_fails(copy, olga, browser_of):
    Copy.objects.update(failure="The disk is full.", failing_since=timezone.now())

    page = browser_of(olga).get("/admin/").content.decode()

    assert "The disk is full." in page
    assert browser_of(olga).get("/admin/copy/copy/").status_code == 200


def test_without_a_copy_nothing_is_told(settings, db):
    assert list(monitoring.families()) == []
    assert monitoring.part_states() == {}
    assert next(monitoring.look())[0] == "ok"
