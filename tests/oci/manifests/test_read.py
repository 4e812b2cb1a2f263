"""end-3: GET and HEAD /v2/<name>/manifests/<reference>"""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Scope
from apps.audit.models import AuditEvent
from apps.releases.catalogue import downloads
from tests.oci.manifests.documents import IMAGE, code_of, digest_of, image
from tests.rows import for_each_row


def test_it_is_served_byte_for_byte_by_tag_and_by_digest_whatever_a_client_accepts(repo):
    at, raw = repo(), image(b"layer", annotations={"n": "1"}).replace(b",", b", ")
    digest = at.push(raw, "main", b"layer")

    for reference in ("main", digest, digest.replace(":", "%3A")):
        got, head = at.get(reference), at.head(reference)
        other = at.client.get(at.url(reference), headers={"Accept": "text/html", "Accept-Encoding": "gzip"})
        assert (got.status_code, got.content) == (other.status_code, other.content) == (200, raw)
        assert (head.status_code, head.content) == (200, b"")
        for answer in (got, head, other):
            assert answer.headers["Content-Type"] == IMAGE
            assert answer.headers["Content-Length"] == str(len(raw))
            assert answer.headers["Docker-Content-Digest"] == digest
            assert answer.headers["ETag"] == f'"{digest}"'
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Docker-Distribution-Api-Version"] == "registry/2.0"
            assert "Content-Encoding" not in answer.headers
            assert "Warning" not in answer.headers


@for_each_row(
    ("reference", "expected"),
    [
        ("missing", (404, "MANIFEST_UNKNOWN")),
        ("1.2.0", (404, "MANIFEST_UNKNOWN")),
        ("latest", (404, "MANIFEST_UNKNOWN")),
        ("sha256:" + "0" * 64, (404, "MANIFEST_UNKNOWN")),
        ("sha256:totallywrong", (400, "DIGEST_INVALID")),
        ("sha256:" + "A" * 64, (400, "DIGEST_INVALID")),
        ("sha1:" + "0" * 40, (400, "DIGEST_INVALID")),
        ("a:b", (400, "DIGEST_INVALID")),
        ("%00", (404, "MANIFEST_UNKNOWN")),
        (".INVALID_MANIFEST_NAME", (404, "MANIFEST_UNKNOWN")),
    ],
)
def test_what_is_not_there(repo, reference, expected):
    at = repo()
    at.push(image(), "main")

    assert code_of(at.get(reference)) == expected
    assert at.head(reference).status_code == 404  # a client that is told 400 ends without a sentence
    assert at.head(reference).content == b""


def test_errors_are_frozen(repo, golden):
    at = repo()
    at.push(image(), "main")

    assert at.get("missing").content == golden("oci/error-manifest-unknown.json")
    assert repo("pantry/dns/aws").get("x").content == golden("oci/error-name-unknown.json")
    assert repo("pantry/___").get("x").content == golden("oci/error-name-invalid.json")
    assert at.get("sha256:x").content == golden("oci/error-digest-invalid.json")


def test_a_manifest_is_read_in_its_own_repository_alone(repo):
    digest = repo("pantry/vpc/aws").push(image(), "main")
    repo("pantry/dns/aws").push(image(annotations={"other": "1"}), "other")

    assert code_of(repo("pantry/dns/aws").get(digest)) == (404, "MANIFEST_UNKNOWN")
    assert code_of(repo("pantry/dns/aws").get("main")) == (404, "MANIFEST_UNKNOWN")
    assert code_of(repo("hall/vpc/aws").get(digest)) == (404, "NAME_UNKNOWN")


@for_each_row(
    ("name", "status"),
    [
        ("a/b/c/d", 404),
        ("A/b/c", 400),
        ("a__b/c/d", 404),
        ("a___b/c/d", 400),
        ("pantry/vpc/aws/", 400),
        ("/pantry/vpc/aws", 400),
        ("pantry//vpc/aws", 400),
        ("pantry/../vpc/aws", 400),
        ("pantry/vpc", 404),
        ("pantry", 404),
        ("pantry/blobs/aws", 404),
        ("pantry/uploads/aws", 404),
        ("pantry/vpc/manifests", 404),
        ("pantry/vpc/tags", 404),
        ("pantry%2Fvpc%2Faws", 200),
        ("x" * 300 + "/b/c", 400),
    ],
)
def test_names_lead_to_their_own_repository_or_nowhere(repo, name, status):
    """Case 22."""
    repo("pantry/vpc/aws").push(image(), "main")
    at = repo(name)

    assert at.get("main").status_code == status
    if status != 200:
        assert at.put(image(), "main").status_code in (400, 404)
        assert at.delete("main").status_code in (400, 404)
        assert at.referrers(digest_of(image())).status_code in ((200, 404) if status == 404 else (400,))


@for_each_row("method", ["get", "head"])
def test_a_read_has_a_budget(repo, published, bob, method):
    """Token, gate, manifest; by digest also whether a release has it."""
    published("acme/vpc/aws", "1.2.0")
    digest = repo("acme/vpc/aws").push(image(b"layer"), "main", b"layer")
    reader = repo("acme/vpc/aws", bob, scope=Scope.READ)
    release = reader.head("1.2.0").headers["Docker-Content-Digest"]
    for reference, most in (("main", 3), (digest, 4), ("1.2.0", 3), (release, 3), ("latest", 4)):
        with CaptureQueriesContext(connection) as asked:
            assert getattr(reader, method)(reference).status_code == 200
        assert len(asked) <= most, [one["sql"] for one in asked]
        if method == "head" and reference in ("main", digest):
            assert not any('"raw"' in one["sql"] for one in asked)
    with CaptureQueriesContext(connection) as asked:
        assert reader.tags().json()["tags"] == ["1.2.0", "latest", "main"]
    assert len(asked) == 3, "token, gate, the tags of releases with those of rows"


# --- Releases ---------------------------------------------------------------------------------------------------------


def test_another_tag_on_a_release_is_the_release(repo, published, olga, monkeypatch):
    """Quarantine and purge hold under whatever name; reading it is a download."""
    noted = []
    monkeypatch.setattr(downloads, "record_download", lambda release_id, *_: noted.append(release_id))
    release = published("pantry/vpc/aws", "1.2.0")
    at = repo(user=olga)
    raw = at.get("1.2.0").content
    at.blob(b"{}")
    assert at.put(raw, "stable").status_code == 201
    assert at.get("stable").content == raw
    assert noted == [release.pk] * 2

    url = "/api/v1/modules/pantry/vpc/aws/1.2.0"
    assert at.client.post(f"{url}/quarantine", {"reason": "bad"}, content_type="application/json").status_code == 200
    for reference in ("1.2.0", "latest", "stable", digest_of(raw)):
        assert at.get(reference).status_code == at.head(reference).status_code == 404, reference

    body = {"reason": "bad", "confirm": "pantry/vpc/aws 1.2.0"}
    assert at.client.post(f"{url}/purge", body, content_type="application/json").status_code in (200, 202)
    for reference in ("1.2.0", "latest", "stable", digest_of(raw)):
        assert at.get(reference).status_code == 404, reference


def test_reads_write_nothing(repo, published, bob):
    published("acme/vpc/aws", "1.2.0")
    repo("acme/vpc/aws").push(image(), "main")
    reader = repo("acme/vpc/aws", bob, scope=Scope.READ)
    events = AuditEvent.objects.count()
    with CaptureQueriesContext(connection) as asked:
        for reference in ("1.2.0", "latest", "main"):
            assert reader.get(reference).status_code == 200
        reader.tags()
        reader.referrers(digest_of(b""))
    assert [one["sql"] for one in asked if not one["sql"].lstrip("(").startswith("SELECT")] == []
    assert AuditEvent.objects.count() == events
