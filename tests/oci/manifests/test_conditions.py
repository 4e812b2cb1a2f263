"""GET and HEAD of a manifest with If-None-Match or If-Match: what a client has already is not sent again."""

import pytest

from apps.releases.catalogue import downloads
from tests.oci.manifests.documents import digest_of, image
from tests.oci.uploading import headers_of
from tests.rows import for_each_row

METHODS = pytest.mark.parametrize("method", ["get", "head"])
OTHER = f'"{digest_of(b"other")}"'


@pytest.fixture
def noted(monkeypatch):
    found = []
    monkeypatch.setattr(downloads, "record_download", lambda release_id, *_: found.append(release_id))
    return found


@pytest.fixture
def at(repo, published):
    made = repo()
    made.release = published("pantry/vpc/aws", "1.2.0")
    made.push(image(), "main")
    return made


def ask(at, method, reference, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return getattr(at.client, method)(at.url(reference), headers=named)


@METHODS
@for_each_row("reference", ["main", "1.2.0", "latest"])
def test_what_the_client_has_is_304(at, noted, method, reference):
    whole = at.head(reference)
    digest, etag = whole.headers["Docker-Content-Digest"], whole.headers["ETag"]
    assert etag == f'"{digest}"'

    for condition in (etag, f"W/{etag}", f"{OTHER}, {etag}", "*"):
        for name in (reference, digest):
            answer = ask(at, method, name, If_None_Match=condition)
            assert (answer.status_code, answer.content) == (304, b"")
            assert answer.headers["ETag"] == etag
            assert answer.headers["Docker-Content-Digest"] == digest
            assert answer.headers["Cache-Control"] == whole.headers["Cache-Control"]
    assert noted == []


@METHODS
@for_each_row("reference", ["main", "1.2.0"])
def test_what_it_has_not_is_sent(at, noted, method, reference):
    bare = ask(at, method, reference)

    for headers in ({"If_None_Match": OTHER}, {"If_Match": bare.headers["ETag"]}, {"If_Match": "*"}):
        answer = ask(at, method, reference, **headers)
        assert (answer.status_code, answer.content) == (200, bare.content)
        assert headers_of(answer) == headers_of(bare)
    is_download = (method, reference) == ("get", "1.2.0")
    assert noted == ([at.release.pk] * 4 if is_download else [])


@METHODS
def test_what_is_asked_for_as_another_one_is_412(at, noted, method):
    answer = ask(at, method, "1.2.0", If_Match=OTHER)

    assert (answer.status_code, answer.content) == (412, b"")
    assert noted == []


def test_what_is_not_there_has_no_conditions(at, charlie, repo):
    assert ask(at, "get", "missing", If_None_Match="*").status_code == 404
    assert ask(repo("acme/vpc/aws", charlie), "get", "main", If_None_Match="*").status_code == 404


def test_a_warning_is_read_by_who_has_the_release_too(at):
    at.client.post("/api/v1/modules/pantry/vpc/aws/1.2.0/deprecate", {"reason": "old"}, content_type="application/json")

    assert "deprecated" in ask(at, "get", "1.2.0", If_None_Match="*").headers["Warning"]
