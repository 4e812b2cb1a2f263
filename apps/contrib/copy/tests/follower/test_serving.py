"""A follower answers with public files alone, with private ones after it asked the leader, and with nothing else."""

import hashlib
import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import timezone

from apps.contrib.copy.follower import fetching, serving
from apps.contrib.copy.follower import leader as asking
from apps.contrib.copy.follower.leader import Said
from apps.lib.process import outside

BOB = {"HTTP_AUTHORIZATION": "Bearer bob"}
PUBLIC, PRIVATE = "/v1/modules/demo/vpc/aws", "/v1/modules/acme/vpc/aws"


@pytest.fixture
def ask(leader, monkeypatch):
    """Ask the middleware of a follower that has everything."""
    monkeypatch.setattr(outside, "_circuits", {})
    fetching.follow()
    leader.asked.clear()
    follower = serving.Follower(lambda _: HttpResponse("its own page"))

    def asked(path, method="GET", **headers):
        answer: Any = follower(RequestFactory().generic(method, path, **headers))
        answer.body = b"".join(answer) if answer.streaming else answer.content
        return answer

    found: Any = asked
    found.permissions = follower.permissions
    return found


def test_public_documents_and_packages_are_served_without_the_leader(ask, leader):
    leader.is_away = True
    assert json.loads(ask(f"{PUBLIC}/versions").body)["modules"][0]["versions"] == [{"version": "1.0.0"}]
    answer = ask(f"{PUBLIC}/1.0.0/download")
    location = json.loads(answer.body)["location"]
    assert answer["X-Terraform-Get"] == location
    assert location.startswith("/packages/modules/demo/vpc/aws/1.0.0.zip?checksum=sha256:")
    package = ask(location)
    assert (package.body, package["Content-Type"]) == (b"archive of 1.0.0", "application/zip")
    part = ask(location, HTTP_RANGE="bytes=0-6")
    assert (part.status_code, part.body) == (206, b"archive")
    assert ask(location, method="HEAD")["Content-Length"] == "16"
    assert leader.asked == []


def test_bob_reads_a_private_module_and_its_package_without_his_token(ask, leader):
    answer = ask(f"{PRIVATE}/1.0.0/download", **BOB)
    location = json.loads(answer.body)["location"]
    assert answer["X-Terraform-Get"] == location
    assert answer["Cache-Control"] == "private, no-cache"
    assert location.startswith("/p/")
    assert hashlib.sha256(ask(location.partition("?")[0]).body).hexdigest() == location.rpartition(":")[2]
    assert ask(f"{PRIVATE}/versions", **BOB).status_code == 200
    assert leader.count("/static-copy/authorise") == 1
    assert "bob" not in str(vars(ask.permissions))


@pytest.mark.parametrize(
    "path",
    [
        f"{PRIVATE}/versions",
        f"{PRIVATE}/9.9.9/download",
        "/packages/modules/acme/vpc/aws/1.0.0.zip",
        "/v1/modules/no/x/y/versions",
    ],
)
def test_charlie_gets_the_same_answer_for_what_is_hidden_and_what_is_missing(ask, path):
    anonymous, charlie = ask(path), ask(path, HTTP_AUTHORIZATION="Bearer charlie")
    assert (anonymous.status_code, charlie.status_code) == (401, 401)
    assert anonymous["WWW-Authenticate"].startswith("Bearer")
    assert "unknown or private" in anonymous.body.decode()


def test_a_link_opens_no_other_namespace_and_ends(ask, monkeypatch, leader):
    leader.module("other/vpc/aws", "1.0.0", is_public=False)
    leader.publish()
    fetching.follow()
    path = json.loads(ask(f"{PRIVATE}/1.0.0/download", **BOB).body)["location"].partition("?")[0]
    assert ask(path).status_code == 200
    for changed in (path.replace("acme", "other"), f"{path[:5]}{'A' if path[5] != 'A' else 'B'}{path[6:]}"):
        answer = ask(changed)
        assert (answer.status_code, "expired or was changed" in answer.body.decode()) == (403, True)
    expiry = int(path.split("/")[3])
    assert 24 * 3600 < expiry - time.time() <= 48.3 * 3600
    monkeypatch.setattr(timezone, "now", lambda: datetime.fromtimestamp(expiry, UTC))
    assert ask(path).status_code == 403


def test_while_the_leader_is_away_only_who_was_seen_reads_on_and_not_for_ever(ask, leader, monkeypatch):
    clock = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    assert ask(f"{PRIVATE}/versions", **BOB).status_code == 200
    leader.is_away = True
    clock[0] += 60 + 3599
    assert ask(f"{PRIVATE}/versions", **BOB).status_code == 200
    charlie = ask(f"{PRIVATE}/versions", HTTP_AUTHORIZATION="Bearer charlie")
    assert (charlie.status_code, charlie["Retry-After"]) == (503, "5")
    assert "has not answered for this token" in charlie.body.decode()
    clock[0] += 2
    assert ask(f"{PRIVATE}/versions", **BOB).status_code == 503


def test_a_revoked_token_reads_no_more_once_its_answer_is_old_and_not_again_while_the_leader_is_away(
    ask, leader, monkeypatch
):
    clock = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    assert ask(f"{PRIVATE}/versions", **BOB).status_code == 200
    leader.readers.clear()
    clock[0] += 59
    assert ask(f"{PRIVATE}/versions", **BOB).status_code == 200
    clock[0] += 2
    assert ask(f"{PRIVATE}/versions", **BOB).status_code == 401
    leader.is_away = True
    clock[0] += 5
    assert ask(f"{PRIVATE}/versions", **BOB).status_code == 503


def test_of_many_tokens_the_oldest_answers_are_forgotten(ask, monkeypatch):
    monkeypatch.setattr(serving, "MOST_PERMISSIONS", 2)
    monkeypatch.setattr(asking, "authorise", lambda *_: Said(200, 60, 60))
    for number in range(5):
        ask.permissions.status("acme", f"Bearer {number}")
    assert len(ask.permissions._said) == 2


def test_everything_else_is_at_the_leader_but_the_pages_of_the_follower_itself(ask, leader):
    for method, path in (
        ("GET", "/modules?q=vpc"),
        ("PUT", "/api/v1/modules/acme/vpc/aws/1.1.0"),
        ("GET", "/v1/modules/search"),
    ):
        answer = ask(path, method=method)
        assert (answer.status_code, answer["Location"]) == (307, leader.url + path)
    assert ask("/status").body == b"its own page"
    assert ask("/v1/modules/acme/../../../../state.json").status_code == 404


def test_a_leader_that_hangs_is_given_up_and_then_left_alone(ask, leader, monkeypatch):
    monkeypatch.setattr(asking, "ASK_SECONDS", 0.2)
    leader.delay = 1.0
    for _ in range(outside.MAX_FAILURES):
        began = time.monotonic()
        assert ask(f"{PRIVATE}/versions", **BOB).status_code == 503
        assert time.monotonic() - began < 0.9
    began = time.monotonic()
    answer = ask(f"{PRIVATE}/versions", **BOB)
    assert (answer.status_code, "has not answered lately" in answer.body.decode()) == (503, True)
    assert time.monotonic() - began < 0.1
