"""Features of S3 alone: encryption, roles, links for clients."""

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from apps.blobs import backends, store
from apps.blobs.backends import s3
from apps.blobs.backends.objects import PART
from apps.blobs.backends.s3 import S3Backend
from tests.blobs import object_server
from tests.chaos.faulty_storage import Proxy
from tests.rows import for_each_row

KEY = "sha256/ab/" + "ab" * 32


@pytest.fixture
def bucket(settings, s3_url: str, credentials: None) -> Callable[..., S3Backend]:
    """The backend of an empty bucket, with more options of the URL."""

    def opened(options: str = "") -> S3Backend:
        settings.STORAGE_URL = f"s3://larder/some/prefix?{s3_url}{options}"
        backend = backends.current()
        assert isinstance(backend, S3Backend)
        object_server.make_empty_bucket(backend)
        return backend

    return opened


@pytest.mark.slow
@for_each_row(
    ("option", "expected"),
    [
        ("", (None, None)),
        ("&encryption=AES256", ("AES256", None)),
        ("&encryption=aws:kms&kms_key=alias/larder", ("aws:kms", "alias/larder")),
    ],
)
def test_every_object_is_written_with_the_encryption_that_the_url_names(db, bucket, monkeypatch, option, expected):
    monkeypatch.setattr(S3Backend, "largest_put", PART)
    backend = bucket(option)
    large = bytes(PART + 1)
    staged = {key: store.stage(key, [data]) for key, data in (("small", b"small"), ("large", large))}
    targets = {key: f"sha256/ab/{found.digest}" for key, found in staged.items()}
    for key, target in targets.items():
        backend.commit(f"staging/{key}", target, staged[key].digest)
    store.put_once("ledger/x", b"{}")

    for key in ("staging/small", "staging/large", "ledger/x", *targets.values()):
        found = backend._client.head_object(Bucket="larder", Key=f"some/prefix/{key}")
        # Without a wish moto says AES256 of some objects, as AWS does of all.
        assert not option or (found.get("ServerSideEncryption"), found.get("SSEKMSKeyId")) == expected, key


def test_a_role_is_enough(bucket, monkeypatch, s3_url, tmp_path: Path):
    bucket().put_once("ledger/x", b"by keys")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    (tmp_path / "token").write_text("a token of the cluster")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/larder")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", parse_qs(s3_url)["endpoint"][0])

    backend = s3.open_backend(f"s3://larder/some/prefix?{s3_url}")

    assert backend.put_once("ledger/x", b"by role") is False
    assert b"".join(backend.read("ledger/x", 0, None)) == b"by keys"
    link = backend.link("ledger/x", seconds=60, headers={})
    assert "X-Amz-Security-Token" in parse_qs(urlsplit(link).query)
    assert httpx.get(link).content == b"by keys"


def test_a_link_gives_the_bytes_with_the_headers_that_were_asked_for(bucket):
    backend = bucket()
    backend.write(KEY, [b"0123456789"])
    headers = {"Content-Type": "application/zip", "Content-Disposition": 'attachment; filename="x.zip"'}

    link = backend.link(KEY, seconds=77, headers=headers | {"Cache-Control": "private"})

    whole = httpx.get(link)
    assert whole.content == b"0123456789"
    assert {name: whole.headers[name] for name in headers} == headers
    assert whole.headers["Cache-Control"] == "private"
    part = httpx.get(link, headers={"Range": "bytes=2-4"})
    assert (part.status_code, part.content) == (206, b"234")
    signed = parse_qs(urlsplit(link).query)
    assert signed["X-Amz-Expires"] == ["77"]
    assert signed["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]


def test_a_link_names_the_host_that_clients_reach(bucket):
    backend = bucket("&public_endpoint=https://s3.acme.example")

    link = urlsplit(backend.link(KEY, seconds=60, headers={}))

    assert (link.scheme, link.netloc, link.path) == ("https", "s3.acme.example", f"/larder/some/prefix/{KEY}")


@pytest.mark.parametrize(
    ("bucket", "host", "path"),
    [
        ("larder", "larder.s3.eu-central-1.amazonaws.com", ""),
        ("larder.acme.example", "s3.eu-central-1.amazonaws.com", "/larder.acme.example"),
    ],
)
def test_at_amazon_a_link_names_the_region(credentials, bucket, host, path):
    backend = s3.open_backend(f"s3://{bucket}/prod?region=eu-central-1")

    link = urlsplit(backend.link(KEY, seconds=60, headers={}))

    assert (link.netloc, link.path) == (host, f"{path}/prod/{KEY}")


def test_an_upload_that_the_server_forgot_is_an_outage_and_no_missing_object(db, bucket, monkeypatch):
    backend = bucket()
    complete = backend._client.complete_multipart_upload

    def answer_is_lost(**more: object) -> None:
        complete(**more)
        backend._client.abort_multipart_upload(**{name: more[name] for name in ("Bucket", "Key", "UploadId")})
        complete(**more)

    monkeypatch.setattr(backend._client, "complete_multipart_upload", answer_is_lost)
    with pytest.raises(store.StorageUnavailable):
        store.stage("large", [bytes(PART + 1)])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # the children use no thread of the parent
def test_forks_do_not_read_each_others_answers(settings, bucket, s3_url):
    """The web processes are forks of one that has asked the storage already."""
    bucket()
    port = str(urlsplit(parse_qs(s3_url)["endpoint"][0]).port)
    settings.STORAGE_URL = settings.STORAGE_URL.replace(port, str(Proxy(int(port)).port))  # it keeps connections open
    names = ("one", "two", "three")
    for name in names:
        store.put_once(f"ledger/{name}", name.encode() * 100)
    children = []
    for name in names:
        child = os.fork()
        if not child:
            is_wrong = True
            try:
                is_wrong = any(store.get(f"ledger/{name}") != name.encode() * 100 for _ in range(50))
            finally:
                os._exit(is_wrong)
        children.append(child)

    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
