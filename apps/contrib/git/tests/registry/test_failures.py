"""Versions that move or vanish, and locations that are not fetched. Nothing of them is published, and all is said."""

import socket
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit.models import AuditEvent
from apps.contrib.git import locations_away, registry_places
from apps.contrib.git.models import Tag
from apps.contrib.git.remote import refs
from apps.contrib.git.tests.conftest import Git, module
from apps.contrib.git.tests.registry.conftest import PolicyException, listed_again, published
from apps.releases.models import Release
from tests.builders import faults
from tests.builders.catalogue import Module
from tests.builders.git_servers import Repository, Site
from tests.builders.misbehaving import Registry
from tests.rows import for_each_row


def alarms() -> list[str]:
    return list(AuditEvent.objects.filter(kind__contains="tag:").order_by("pk").values_list("kind", flat=True))


@pytest.mark.slow
def test_a_tag_that_moves_is_an_alarm_and_the_release_stays(
    mirrored: Git, code: Repository, monkeypatch: pytest.MonkeyPatch
):
    mirrored.sync()
    before = published()
    monkeypatch.setattr(registry_places, "RECHECKED", 1)  # however many versions there are
    code.commit(module("another"))
    code.tag("v1.0.0")
    code.tag("v1.1.0")

    assert listed_again(mirrored) == {"1.0.0": "moved", "1.1.0": "moved"}
    assert code.head in mirrored.reason("1.0.0")
    assert len([kind for kind in alarms() if "moved" in kind]) == 2
    listed_again(mirrored)
    assert len([kind for kind in alarms() if "moved" in kind]) == 2
    assert published() == before


@pytest.mark.slow
def test_a_location_that_changes_and_a_version_that_vanishes_are_alarms_and_the_releases_stay(
    mirrored: Git, listed: Module
):
    mirrored.sync()
    listed.locations["1.0.0"] = listed.location.format(version="1.1.0")
    assert listed_again(mirrored)["1.0.0"] == "moved"

    listed.versions.remove("1.1.0")
    assert listed_again(mirrored)["1.1.0"] == "gone"
    assert len([kind for kind in alarms() if "deleted" in kind]) == 1
    assert len(published()) == 2


def test_a_version_that_moves_before_it_is_published_never_is(mirrored: Git, other, code: Repository, site: Site):
    # Its commit is pinned, and the fetch fails.
    site.answer = lambda path: (503, {}, b"") if path.endswith("git-upload-pack") and "service" not in path else None
    assert mirrored.sync(["1.0.0"]) == {"1.0.0": "waiting", "1.1.0": "ignored"}
    pinned = mirrored.tag("1.0.0").commit
    assert pinned == code.run("rev-parse", "v1.0.0^{commit}")
    site.answer = None
    locations_away.forget()  # the pause is over
    code.tag("v1.0.0")  # at the newest commit now

    assert listed_again(mirrored)["1.0.0"] == "moved"
    assert mirrored.tag("1.0.0").commit == pinned
    assert f"now points to commit {code.head}" in mirrored.reason("1.0.0")
    assert listed_again(mirrored)["1.0.0"] == "moved"
    assert len([kind for kind in alarms() if "moved" in kind]) == 1

    PolicyException.objects.create(
        upstream=other,
        module="acme/vpc/aws",
        module_version="1.0.0",
        reason="Fixes a hole",
        expires_at=timezone.now() + timedelta(days=7),
    )
    assert listed_again(mirrored)["1.0.0"] == "moved", "an exception says nothing about a commit that moved"
    assert not Release.objects.exists()


HOSTILE = [  # one of each code: remote/test_locations has the others
    ("git::ext::sh -c id", "bad_location", "others than plain ASCII"),
    ("git::https://user:pears@localhost/vpc.git?ref=v1.0.0", "bad_location", "user name or password"),
    ("git::https://localhost/vpc.git//../../etc?ref=v1.0.0", "bad_location", "a plain path"),
    ("git::ssh://git@localhost/acme/vpc.git?ref=v1.0.0", "ssh_location", "ssh key"),
    ("git::https://localhost/vpc.git", "not_pinned", "names no ref"),
    ("./vpc.tar.gz", "not_git", "an archive or a path"),
    ("git::https://169.254.169.254/latest.git?ref=v1.0.0", "private_address", "LARDER_OUTGOING_ALLOW"),
]


@for_each_row(("location", "code_", "text"), HOSTILE)
def test_a_location_that_is_not_fetched_is_refused_with_its_reason(
    location: str, code_: str, text: str, mirrored: Git, listed: Module, registry: Registry
):
    listed.versions = ["1.0.0"]
    listed.locations["1.0.0"] = location
    mirrored.sync()

    tag = mirrored.tag("1.0.0")
    assert (tag.code, tag.release) == (code_, None)
    assert text in tag.reason
    assert "pears" not in tag.reason
    assert not Release.objects.exists()


def test_a_branch_is_no_version_and_the_other_one_is_published(mirrored: Git, listed: Module):
    listed.locations["1.0.0"] = listed.location.replace("v{version}", "main")

    assert mirrored.sync() == {"1.0.0": "refused", "1.1.0": "published"}
    assert "'main', expected a tag of" in mirrored.reason("1.0.0")


@pytest.fixture
def hanging() -> Iterator[str]:
    """A server that takes connections and says nothing, of which nobody waits longer than a second."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        yield f"git::http://127.0.0.1:{one.getsockname()[1]}/acme/vpc.git?ref=v{{version}}"


@pytest.mark.both
@pytest.mark.parametrize("kind", ["hanging", "failing"])
def test_versions_in_a_place_that_is_away_hold_up_no_other_one_and_are_tried_again(
    kind: str, mirrored: Git, listed: Module, site: Site, hanging: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(refs, "_MAX_SECONDS", 1.0)
    listed.versions = [f"0.{minor}.0" for minor in range(10)] + ["1.0.0", "1.1.0"]
    away = hanging if kind == "hanging" else f"git::{site.url_of('acme/away')}?ref=v{{version}}"
    for version in listed.versions[:10]:
        listed.locations[version] = away.format(version=version)
    site.answer = lambda path: (502, {}, b"") if "acme/away" in path else None
    began = time.monotonic()

    shown = mirrored.sync()

    assert {name for name, verdict in shown.items() if verdict == "published"} == {"1.0.0", "1.1.0"}
    assert {verdict for name, verdict in shown.items() if name[0] == "0"} == {"waiting"}
    assert mirrored.repository.failed_at is None
    assert time.monotonic() - began < 30
    assert sum("acme/away" in request for request in site.requests) == (1 if kind == "failing" else 0)
    assert "Larder tries that server again within 2 minutes." in mirrored.reason("0.9.0")
    assert {tag.tries for tag in Tag.objects.filter(name__startswith="0.")} == {1}


ANSWERS = [
    (faults.says(404), "not_found"),
    (faults.says(200, b"[]", Content_Type="application/json"), "bad_shape"),
    (faults.says(204), "no_location"),
]


@for_each_row(("fault", "code_"), ANSWERS)
def test_an_answer_without_a_location_is_refused(
    fault: faults.Fault, code_: str, mirrored: Git, registry: Registry, listed: Module
):
    registry.misbehave(listed.download_path("1.0.0"), fault)

    assert mirrored.sync(["1.0.0"]) == {"1.0.0": "refused", "1.1.0": "ignored"}
    assert mirrored.tag("1.0.0").code == code_


@pytest.fixture
def synced(mirrored: Git) -> Git:
    """1.0.0 is published."""
    mirrored.sync(["1.0.0"])
    return mirrored


LISTS = [
    (faults.wrong_shape({"modules": []}), "bad_shape"),
    (faults.wrong_shape({"modules": [{"versions": [{"version": 1}]}]}), "bad_shape"),
    (faults.wrong_shape({"modules": [{"versions": [{"version": f"1.0.{n}"} for n in range(10_001)]}]}), "many"),
    (faults.says(404), "not_found"),
    (faults.says(503), "server_error"),
]


@for_each_row(("fault", "code_"), LISTS)
def test_a_list_that_cannot_be_used_changes_nothing_and_is_shown(
    fault: faults.Fault, code_: str, synced: Git, registry: Registry, listed: Module
):
    registry.misbehave(listed.list_path, fault)

    assert listed_again(synced) == {"1.0.0": "published", "1.1.0": "ignored"}
    assert code_ in synced.repository.failure_code
    assert listed.list_path in synced.repository.failure
    failed_at, next_at = synced.repository.failed_at, synced.repository.next_at
    assert failed_at is not None and next_at is not None  # noqa: PT018  # for mypy
    assert next_at > failed_at
