"""A query parameter that a call does not have is refused: a filter that filters nothing, a dry run that publishes."""

import pytest

from apps.releases.models import Release
from tests.rows import for_each_row

MODULE = "/api/v1/modules/acme/vpc/aws"


@for_each_row(
    ("method", "url", "hint"),
    [
        ("GET", "/api/v1/namespaces/acme/audit?persn=alice", "Did you mean person?"),
        ("GET", "/api/v1/audit?since=2026-01-01&action=x", "cursor"),
        ("GET", "/api/v1/modules?namespce=acme", "Did you mean namespace?"),
        ("GET", "/api/v1/namespaces/acme/releases?page=2", "Parameters are: "),
        ("GET", f"{MODULE}/versions?limit=5", "Parameters are: cursor."),
        ("GET", "/api/v1/namespaces/acme?q=x", "This call takes none."),
        ("HEAD", "/api/v1/namespaces/acme?q=x", ""),
        ("POST", "/api/v1/namespaces/acme/keys?test=1", "This call takes none."),
        ("PUT", f"{MODULE}/1.0.0?dryrun=1", "Did you mean dry_run?"),
        ("DELETE", "/api/v1/namespaces/acme?force=1", "This call takes none."),
    ],
)
def test_it_is_named_with_what_the_call_has(olga, tofu, acme, method, url, hint):
    answer = tofu(olga, scope="manage").generic(method, url, b"{}", content_type="application/json")

    assert answer.status_code == 422, answer.content
    if method != "HEAD":
        error = answer.json()["error"]
        assert error["message"].startswith("There is no query parameter '")
        assert hint in error["hint"]
    assert not Release.objects.exists()


@pytest.mark.both
def test_a_stranger_learns_nothing_by_one(client, charlie, tofu, acme):
    assert client.get("/api/v1/namespaces/acme/audit?nope=1").status_code == 401
    for name in ("acme", "nowhere"):
        assert tofu(charlie, scope="manage").get(f"/api/v1/namespaces/{name}?nope=1").status_code == 422
