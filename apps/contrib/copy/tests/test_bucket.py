"""The same tree in a bucket, whose server refuses, answers late, or gives a list that is old."""

import contextlib
from typing import Any

import httpx
import pytest

from apps.accounts.access.gate import Viewer
from apps.blobs.store import StorageUnavailable
from apps.contrib.copy.models import Copy, Due
from apps.contrib.copy.settings_values import StaticCopy
from apps.contrib.copy.writing import checking, following, writer
from apps.contrib.copy.writing.bucket import Bucket
from apps.contrib.copy.writing.targets import Busy
from apps.jobs.claims import Claim, Outage
from apps.releases.lifecycle import verbs
from tests import s3
from tests.blobs.conftest import credentials, s3_url
from tests.chaos.faulty_storage import Proxy

__all__ = ["credentials", "s3_url"]

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
def bucket(tree, settings, server: Server, s3_url: str, credentials, tmp_path) -> str:
    """The URL of an empty bucket, into which the copy goes."""
    endpoint = f"http://127.0.0.1:{server.port}"
    name = f"copy-{tmp_path.name.lower().replace('_', '-')}"[:60].rstrip("-")
    s3.make_bucket(endpoint, name)
    settings.STATIC_COPY = StaticCopy(f"s3://{name}/tree?endpoint={endpoint}&region=us-east-1")
    return f"{s3_url.partition('&')[0].removeprefix('endpoint=')}/{name}/tree"


def test_a_bucket_has_the_files_with_their_types_and_lifetimes(published, bucket, follow, settings):
    release = published()

    follow()

    found = httpx.get(f"{bucket}/private/{ZIP}")
    assert found.headers["content-type"] == "application/zip"
    assert found.headers["cache-control"] == "private, max-age=86400"
    assert len(found.content) == release.size
    listed = httpx.get(f"{bucket}/private/v1/modules/acme/vpc/aws/versions")
    assert listed.json()["modules"][0]["versions"][0]["version"] == "1.2.0"
    assert listed.headers["cache-control"] == "private, max-age=10"
    assert httpx.get(f"{bucket}/public/.well-known/terraform.json").headers["content-type"] == "application/json"
    assert list(checking.differences(settings.STATIC_COPY.url, repair=False)) == []


def test_bytes_in_the_same_bucket_are_copied_by_the_server(bucket, settings, s3_url, monkeypatch, acme):
    settings.STORAGE_URL = settings.STATIC_COPY.url.replace("/tree?", "/larder?")
    target = Bucket(settings.STATIC_COPY.url)
    digest = "ab" * 32
    target._client.put_object(Bucket=target._bucket, Key=f"larder/sha256/ab/{digest}", Body=b"the bytes")
    stored = following.documents.Stored(digest, 9)

    target.put([(f"private/{ZIP}", stored)])

    assert httpx.get(f"{bucket}/private/{ZIP}").content == b"the bytes"


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["500", "403", "lost"])
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
    assert httpx.get(f"{bucket}/private/v1/modules/acme/vpc/aws/versions").json()["modules"][0]["versions"] == []


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

    assert httpx.get(f"{bucket}/private/{ZIP}").status_code == 404
    assert httpx.get(f"{bucket}/private/v1/modules/acme/vpc/aws/versions").status_code == 404


def test_a_second_writer_of_a_bucket_waits_for_the_lease_of_the_first(bucket, db, settings):
    url = settings.STATIC_COPY.url

    with writer.opened(url), pytest.raises(Busy), writer.opened(url):
        pass

    with writer.opened(url) as own:
        assert own.copy.fence == 2
