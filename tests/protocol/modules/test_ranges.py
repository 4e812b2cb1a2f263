import pytest
from django.test import Client

from tests.rows import for_each_row


@pytest.fixture
def archive(published, frozen_zip):
    release = published("pantry/vpc/aws", "1.2.0", data=frozen_zip)
    return f"/archives/{release.digest}/vpc-aws-1.2.0.zip", frozen_zip


@for_each_row(
    ("asked", "part"),
    [
        ("bytes=0-0", slice(0, 1)),
        ("bytes=-7", slice(-7, None)),
    ],
)
def test_one_range_is_206(archive, asked, part):
    url, data = archive
    response = Client(headers={"Range": asked}).get(url)
    start, stop, _ = part.indices(len(data))

    assert response.status_code == 206
    assert response.getvalue() == data[part]
    assert response.headers["Content-Range"] == f"bytes {start}-{stop - 1}/{len(data)}"
    assert response.headers["Content-Length"] == str(stop - start)


@for_each_row("asked", ["bytes=999999-", "bytes=-0"])
def test_a_range_behind_the_end_is_416(archive, asked):
    url, data = archive
    response = Client(headers={"Range": asked}).get(url)

    assert response.status_code == 416
    assert response.headers["Content-Range"] == f"bytes */{len(data)}"
    assert response.headers["Content-Type"] == "application/json"


def test_head_has_no_ranges(archive):
    url, data = archive
    response = Client(headers={"Range": "bytes=0-3"}).head(url)

    assert (response.status_code, response.headers["Content-Length"]) == (200, str(len(data)))


def test_a_copy_that_is_still_right_is_304(archive):
    url, _ = archive
    etag = Client().head(url).headers["ETag"]
    response = Client(headers={"If-None-Match": etag, "Range": "bytes=0-3"}).get(url)

    assert (response.status_code, response.content) == (304, b"")
    assert response.headers["ETag"] == etag
    assert response.headers["Cache-Control"] == "public, max-age=300"
