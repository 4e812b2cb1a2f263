"""end-7: PUT /v2/<name>/manifests/<reference>"""

import json

import pytest

from apps.artifacts.models import Manifest, ManifestBlob, ManifestChild, Tag
from apps.audit.models import AuditEvent
from tests.oci.manifests.documents import (
    EMPTY,
    IMAGE,
    INDEX,
    attached,
    code_of,
    descriptor,
    digest_of,
    image,
    index,
)
from tests.rows import for_each_row


@pytest.mark.both
def test_a_push_by_tag_is_stored_byte_for_byte_and_said_so(repo):
    at = repo()
    raw = image(b"layer", annotations={"a": "ü"}, custom={"b": [1, None]}).replace(b",", b" ,\n")
    at.blob(b"{}")
    at.blob(b"layer")

    answer = at.put(raw, "main")

    digest = digest_of(raw)
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/v2/pantry/vpc/aws/manifests/{digest}"
    assert answer.headers["Docker-Content-Digest"] == digest
    assert answer.headers["OCI-Tag"] == "main"
    assert "OCI-Subject" not in answer.headers
    assert "Warning" not in answer.headers  # no module package: it may be called what it likes
    assert at.get(answer.headers["Location"].rpartition("/")[2]).content == raw
    row = Manifest.objects.get(digest=digest)
    assert (row.size, row.media_type, row.artifact_type, row.annotations) == (len(raw), IMAGE, EMPTY, {"a": "ü"})
    assert ManifestBlob.objects.filter(manifest=row).count() == 2
    event = AuditEvent.objects.get(kind="namespace:manifest:pushed")
    assert event.subject == "pantry/vpc/aws"
    assert event.detail == {"digest": digest, "tags": ["main"], "moved": {}}


@pytest.mark.both
def test_the_same_bytes_again_are_welcome(repo):
    at = repo()
    raw = image()
    at.push(raw, "main")

    assert at.put(raw, "main").status_code == 201
    assert at.put(raw, "other").status_code == 201
    assert Manifest.objects.count() == 1
    assert set(Tag.objects.values_list("name", flat=True)) == {"main", "other"}


@for_each_row(("count", "status"), [(12, 201), (100, 201), (101, 414), (1001, 400)])
def test_tags_come_as_parameters_so_many_and_no_more(repo, count, status):
    at = repo()
    at.blob(b"{}")
    names = [f"t{number:04}" for number in range(count)]

    answer = at.put(image(), query="?" + "&".join(f"tag={name}" for name in names) + ("&tag=t0000" * (count == 12)))

    assert answer.status_code == status
    if status == 201:
        assert answer.headers["OCI-Tag"] == ", ".join(names)
        assert at.tags().json()["tags"] == names
    else:
        assert code_of(answer)[1] in ("SIZE_INVALID", "UNSUPPORTED")
        assert not Tag.objects.exists()


@pytest.mark.both
def test_a_tag_moves_and_the_move_is_recorded(repo):
    at = repo()
    first, second = at.push(image(), "main"), at.push(image(annotations={"n": "2"}), "main")

    assert at.head("main").headers["Docker-Content-Digest"] == second
    assert at.get(first).status_code == 200
    event = AuditEvent.objects.filter(kind="namespace:manifest:pushed").latest("pk")
    assert event.detail["moved"] == {"main": first}


def test_by_sha512_it_is_known_by_sha512(repo):
    """sha512-only push (case 9): the header echoes what was asked for, by tag as well."""
    at = repo()
    config, raw = b'{"a":1}', b""
    at.blob(config, "sha512")
    fields = json.loads(image(config_bytes=config)) | {"config": descriptor(config, EMPTY, "sha512")}
    raw = json.dumps(fields).encode()
    digest = digest_of(raw, "sha512")

    assert at.put(raw, digest).headers["Docker-Content-Digest"] == digest
    assert at.put(raw, "long").headers["Docker-Content-Digest"] == digest
    assert at.head(digest).headers["Docker-Content-Digest"] == digest
    assert at.head("long").headers["Docker-Content-Digest"] == digest
    assert code_of(at.get(digest_of(raw))) == (404, "MANIFEST_UNKNOWN")
    assert at.put(raw).status_code == 201  # and now by both
    assert at.get(digest_of(raw)).content == raw


def test_a_body_that_is_not_its_digest_is_refused(repo):
    """Case 17: a line break more is another manifest."""
    at = repo()
    at.blob(b"{}")
    raw = image()

    assert code_of(at.put(raw + b"\n", digest_of(raw))) == (400, "DIGEST_INVALID")
    assert code_of(at.put(raw, "sha256:baddigeststring")) == (400, "DIGEST_INVALID")
    assert code_of(at.put(raw, digest_of(raw).upper())) == (400, "DIGEST_INVALID")
    assert code_of(at.put(raw, digest_of(raw).replace("sha256", "md5"))) == (400, "DIGEST_INVALID")
    assert at.put(raw, digest_of(raw).replace(":", "%3A")).status_code == 201
    assert Manifest.objects.count() == 1


def test_a_missing_blob_is_named_also_where_another_repository_has_it(repo):
    repo("pantry/other/aws").blob(b"elsewhere")
    at = repo()
    at.blob(b"{}")

    for layer in (b"nobody pushed this", b"elsewhere"):
        answer = at.put(image(layer), "main")
        assert code_of(answer) == (404, "MANIFEST_BLOB_UNKNOWN")
        assert digest_of(layer) in answer.json()["errors"][0]["message"]
    assert not Manifest.objects.exists()


def test_a_size_that_is_not_the_blobs_is_refused(repo):
    at = repo()
    at.blob(b"{}")
    at.blob(b"layer")
    raw = image(b"layer").replace(b'"size":5', b'"size":6')

    answer = at.put(raw, "main")

    assert code_of(answer) == (400, "MANIFEST_INVALID")
    assert "has 5 bytes, but its descriptor says 6" in answer.json()["errors"][0]["message"]


@for_each_row("where", ["urls", "type"])
def test_what_registries_do_not_hold_may_be_away(repo, where):
    """Case 18."""
    at = repo()
    at.blob(b"{}")
    foreign = "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"
    layer = descriptor(b"far away", foreign if where == "type" else "text/plain")
    if where == "urls":
        layer["urls"] = ["https://elsewhere.example/layer"]

    assert at.put(image(layers=[layer]), "main").status_code == 201


def test_a_subject_may_come_later_and_is_said_to_be_understood(repo):
    at = repo()
    at.blob(b"{}")
    subject = image(annotations={"comes": "later"})

    answer = at.put(attached(subject))

    assert (answer.status_code, answer.headers["OCI-Subject"]) == (201, digest_of(subject))
    (listed,) = at.referrers(digest_of(subject)).json()["manifests"]
    assert listed["digest"] == digest_of(attached(subject))


def test_an_index_lists_what_is_here(repo, settings):
    at = repo()
    child, other = image(), image(annotations={"other": "1"})
    at.push(child)

    assert code_of(at.put(index(child, other), "both")) == (404, "MANIFEST_BLOB_UNKNOWN")
    assert at.put(index(child), "one").status_code == 201
    assert at.put(index(index(child)), "nested").status_code == 201
    assert at.put(index(), "none").status_code == 201
    assert list(ManifestChild.objects.order_by("pk").values_list("digest", flat=True)) == [
        digest_of(child),
        digest_of(index(child)),
    ]

    settings.OCI_SPARSE_INDEXES = True
    assert at.put(index(child, other), "both").status_code == 201


def test_an_index_may_list_what_is_no_manifest(repo):
    at = repo()
    at.blob(b"notes")
    raw = index(manifests=[descriptor(b"notes", "text/plain")])

    assert at.put(raw, "notes").status_code == 201
    assert ManifestBlob.objects.count() == 1
    assert code_of(at.put(index(manifests=[descriptor(b"away", "text/plain")]), "away"))[0] == 404


def test_the_media_type_of_a_manifest_is_that_of_its_push_or_its_own_and_does_not_change(repo):
    at = repo()
    at.blob(b"{}")
    raw = json.dumps({name: value for name, value in json.loads(image()).items() if name != "mediaType"}).encode()
    docker = "application/vnd.docker.distribution.manifest.v2+json"

    assert at.put(raw, "main", IMAGE + "; charset=utf-8").status_code == 201
    assert at.get("main").headers["Content-Type"] == IMAGE
    assert code_of(at.put(raw, "main", docker)) == (400, "MANIFEST_INVALID")
    assert at.get("main").headers["Content-Type"] == IMAGE
    assert at.put(index(), "all", media_type="").status_code == 201
    assert at.get("all").headers["Content-Type"] == INDEX


def test_a_large_manifest_is_taken_and_one_byte_too_many_is_not(repo, settings):
    """Case 2."""
    at = repo()
    at.blob(b"{}")
    raw = image(annotations={"large": "x" * 3_900_000})
    assert at.put(raw, "large").status_code == 201
    assert at.get("large").content == raw

    limit = settings.OCI_MANIFEST_MAX_BYTES
    padded = image(annotations={"large": "x" * (limit - len(image(annotations={"large": ""})))})
    assert len(padded) == limit
    assert at.put(padded, "limit").status_code == 201

    answer = at.put(padded + b" ", "over")
    assert code_of(answer) == (413, "SIZE_INVALID")
    assert "oci_manifest_max_bytes of LARDER_LIMITS" in answer.json()["errors"][0]["message"]


def test_nobody_pushes_to_the_mirror_of_a_provider(repo, settings, olga, tofu):
    """It is made from releases: writes are refused with the reason, by whomever."""
    name = f"providers/{min(settings.HOSTNAMES)}/pantry/dns"
    at = repo(name, olga)
    blob = at.client.post(f"/v2/{name}/blobs/uploads/?digest={digest_of(b'{}')}", b"{}", content_type="x/y")

    for answer in (at.put(image(), "1.0.0"), at.put(image()), at.delete("1.0.0"), at.delete(digest_of(image())), blob):
        assert code_of(answer) == (405, "UNSUPPORTED")
        assert "generated from its releases" in answer.json()["errors"][0]["message"]
    assert tofu(None).put(at.url("1.0.0"), image(), content_type=IMAGE).status_code == 401
    assert not Manifest.objects.exists()
