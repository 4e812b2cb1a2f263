"""publish.sh sends reports of scanners and tests before the version is published."""

import hashlib
import json

import pytest

from tests.e2e.answering import ADDRESS, RELEASE, document, make, run, server

__all__ = ["make", "server"]
pytestmark = [pytest.mark.needs("curl", "git", "dash")]


def test_each_report_is_sent_with_the_digest_of_the_archive_and_then_the_module(make, server):
    here = make()
    here.commit("v1")
    here.write("a.sarif", "{}")
    here.write("b=c.json", "[]")
    server.answers[ADDRESS] = [(202, document("received"))]
    digest = ""
    run(here)
    digest = hashlib.sha256(server.bodies(ADDRESS)[0]).hexdigest()
    server.requests.clear()
    for name in ("checkov", "tofu-test"):
        server.answers[f"{ADDRESS}/checks/{name}?digest=sha256:{digest}"] = [(202, "{}")]

    said = run(here, "--report checkov=a.sarif --report tofu-test=b=c.json acme/vpc/aws 1.0.0")

    assert [path.partition("?")[0] for _, path, _ in server.requests] == [
        f"{ADDRESS}/checks/checkov",
        f"{ADDRESS}/checks/tofu-test",
        ADDRESS,
        RELEASE,
    ]
    assert [body for _, _, body in server.requests[:2]] == [b"{}", b"[]"]
    assert "Sent: the check checkov\nSent: the check tofu-test\n" in said


def test_a_report_that_is_refused_publishes_nothing(make, server):
    here = make()
    here.commit("v1")
    here.write("a.sarif", "x")

    said = run(here, "--report checkov=a.sarif acme/vpc/aws 1.0.0", 1)

    assert "is not published" in said
    assert not server.bodies(ADDRESS)


def test_it_says_that_a_release_waits_for_required_checks(make, server):
    here = make()
    here.commit("v1")
    server.answers[RELEASE] = [(200, json.dumps({**json.loads(document("awaiting-approval")), "approval": None}))]

    assert "waits for those that acme requires" in run(here)
    assert "waits for those that acme requires" in run(here, "--published-only acme/vpc/aws 1.0.0", 3)


def test_a_report_that_is_not_there_is_named_before_anything_is_sent(make, server):
    here = make()
    for words in ("--report", "--report checkov", "--report Check=a.sarif", "--report =a", "--report x=missing"):
        assert "expected" in run(here, f"{words} acme/vpc/aws 1.0.0", 2), words
    assert not server.requests
