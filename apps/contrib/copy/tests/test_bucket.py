"""The same tree in a bucket, whose server refuses, answers late, or gives a list that is old."""

import contextlib
import json
from typing import Any

import pytest

from apps.accounts.access.gate import Viewer
from apps.blobs.store import StorageUnavailable
from apps.contrib.copy.models import Copy, Due
from apps.contrib.copy.settings_values import StaticCopy
from apps.contrib.copy.tree.documents import Stored
from apps.contrib.copy.tree.folders import Busy
from apps.contrib.copy.writing import checking, following, writer
from apps.contrib.copy.writing.bucket import Bucket
from apps.jobs.claims import Claim, Outage
from apps.releases.lifecycle import verbs
from tests import s3
from tests.blobs.conftest import credentials, s3_url
from tests.chaos.faulty_storage import Proxy

__all__ = ["credentials", "s3_url"]

VERSIONS = "v1/modules/acme/vpc/aws/versions"
ZIP = "packages/modules/acme/vpc/aws/1.2.0.zip"


class Server(Proxy):
    """A server that also refuses the rights of a writer: 403."""

    def refusal(self, fault: str, handler: Any, path: str) -> int:
        if fault == "403" and handler.command in ("PUT", "DELETE"):
            return 403
        return super().refusal(fault, handler, path)


@pytest.fixture
def server(s3_url: str) -> Server:
    return Server(int(s3_url.partition("127.0.0.1:")[2].partition("&")[0]))


@pytest.fixture
def bucket(tree, settings, server: Server, credentials, tmp_path) -> Bucket:
    """The empty bucket into which the copy goes."""
    endpoint = f"http://127.0.0.1:{server.port}"
    name = f"copy-{tmp_path.name.lower().replace('_', '-')}"[:60].rstrip("-")
    s3.make_bucket(endpoint, name)
    settings.STATIC_COPY = StaticCopy(f"s3://{name}/tree?endpoint={endpoint}&region=us-east-1")
    return Bucket(settings.STATIC_COPY.url)


def found_at(bucket: Bucket, path: str) -> tuple[Any, bytes]:
    """What the server says of an object, and its bytes."""
    said = bucket._client.get_object(Bucket=bucket._bucket, Key=f"tree/{path}")
    return said, said["Body"].read()


def listed(bucket: Bucket) -> list[Any]:
    document = json.loads(found_at(bucket, f"private/{VERSIONS}")[1])
    return [one["version"] for one in document["modules"][0]["versions"]]


def test_a_bucket_has_the_files_with_their_types_and_lifetimes(published, bucket, follow, settings):
    release = published()

    follow()

    said, data = found_at(bucket, f"private/{ZIP}")
    assert (said["ContentType"], said["CacheControl"]) == ("application/zip", "private, max-age=86400")
    assert len(data) == release.size
    assert listed(bucket) == ["1.2.0"]
    assert found_at(bucket, f"private/{VERSIONS}")[0]["CacheControl"] == "private, max-age=10"
    assert found_at(bucket, "public/.well-known/terraform.json")[0]["ContentType"] == "application/json"
    assert list(checking.differences(settings.STATIC_COPY.url, repair=False)) == []


def test_bytes_in_the_same_bucket_are_copied_by_the_server(bucket, settings):
    settings.STORAGE_URL = settings.STATIC_COPY.url.replace("/tree?", "/larder?")
    digest = "ab" * 32
    bucket._client.put_object(Bucket=bucket._bucket, Key=f"larder/sha256/ab/{digest}", Body=b"the bytes")

    bucket.put([(f"private/{ZIP}", Stored(digest, 9))])

    assert found_at(bucket, f"private/{ZIP}")[1] == b"the bytes"


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["500", "403", "lost", "slow", "late"])
def test_a_bucket_that_fails_keeps_the_change_until_it_answers(fault, published, bucket, server, follow, olga):
    release = published()
    follow()
    verbs.yank(release=release, actor=Viewer(olga), reason="Wrong.")
    server.fault = fault

    with contextlib.suppress(StorageUnavailable):  # what was stored without an answer may be found at the next try
        follow()
    assert server.asked
    server.fault = ""
    follow()

    assert not Due.objects.exists()
    assert listed(bucket) == []


def test_a_bucket_that_refuses_says_so(published, bucket, server, settings):
    published()
    server.fault = "403"
    claim = Claim(job_id=1, kind=following.JOB, target=0, attempt=1, fence=1, exhausted=False)

    with pytest.raises(Outage, match="refused"):
        following.run(claim)

    assert "refused the request" in Copy.objects.get().failure


def test_a_list_that_is_old_changes_nothing(published, bucket, follow, olga, monkeypatch, settings):
    """Rows say what is there: a bucket may show a file late, or one that is gone."""
    release = published()
    monkeypatch.setattr(Bucket, "_listed", lambda *_: iter(()))
    follow()
    verbs.quarantine(release=release, actor=Viewer(olga), reason="It holds a key.")

    follow()

    assert bucket.stored(f"private/{ZIP}") is None
    assert bucket.stored(f"private/{VERSIONS}") is None


def test_a_second_writer_of_a_bucket_waits_for_the_lease_of_the_first(bucket, db, settings):
    url = settings.STATIC_COPY.url

    with writer.opened(url), pytest.raises(Busy), writer.opened(url):
        pass

    with writer.opened(url) as own:
        assert own.copy.fence == 2
