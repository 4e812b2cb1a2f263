"""Object storage sends archives and blobs itself: the same rules decide, and Larder's answer is only a link."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.blobs.care import integrity
from apps.http.ready import ready_of
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from apps.protocol.locations import location_of
from tests.blobs.conftest import AZURE
from tests.builders.archives import module_zip

pytestmark = pytest.mark.parametrize("backend", ["s3", AZURE], indirect=True)
DATA = module_zip(comment=b"by storage")


@pytest.fixture
def urls(backend, published, settings) -> list[str]:
    """One private archive by every address that it has."""
    settings.STORAGE_REDIRECT_SECONDS = 60
    release = published("acme/vpc/aws", "1.2.0", data=DATA)
    return [
        f"/archives/{release.digest}/vpc-aws-1.2.0.zip",
        location_of(release, now=datetime.now(tz=UTC)),
        f"/v2/acme/vpc/aws/blobs/sha256:{release.digest}",
    ]


def lifetime(link: str) -> float:
    """In seconds. A link of Azure also says from when on it is valid: five minutes ago, since clocks differ."""
    signed = {name: value for name, [value] in parse_qs(urlsplit(link).query).items()}
    if "X-Amz-Expires" in signed:
        return int(signed["X-Amz-Expires"])
    return (datetime.fromisoformat(signed["se"]) - datetime.fromisoformat(signed["st"])).total_seconds() - 300


def link_in(answer: Any) -> str:
    assert answer.status_code == 307, answer
    assert not answer.content
    return str(answer.headers["Location"])


def test_a_download_is_a_link_that_ends_soon_and_that_nobody_repeats(urls, tofu, alice):
    for url in urls:
        answer = tofu(alice).get(url)
        link = link_in(answer)
        assert lifetime(link) == 60
        assert answer.headers["Cache-Control"] == "no-store"
        assert ready_of(answer) is None, "the front must not repeat it"
        assert httpx.get(link).content == DATA
        part = link_in(tofu(alice).get(url, headers={"Range": "bytes=1-3"}))
        assert httpx.get(part, headers={"Range": "bytes=1-3"}).content == DATA[1:4]
    assert answer.headers["Docker-Content-Digest"] == f"sha256:{urls[2].rpartition(':')[2]}"


def test_storage_says_what_larder_would_have_said(urls, tofu, alice, settings):
    names = ("Content-Type", "Content-Disposition", "Content-Length")
    for url in urls:
        sent = httpx.get(link_in(tofu(alice).get(url)))
        settings.STORAGE_REDIRECT_SECONDS = 0
        own = tofu(alice).get(url)
        settings.STORAGE_REDIRECT_SECONDS = 60
        assert own.status_code == 200
        assert own.getvalue() == sent.content == DATA
        assert {name: sent.headers[name] for name in names} == {name: own.headers[name] for name in names}


@pytest.mark.slow
def test_larder_answers_what_storage_would_answer_otherwise(urls, tofu, alice):
    for url in urls:
        head = tofu(alice).head(url)
        assert (head.status_code, head.headers["Content-Length"]) == (200, str(len(DATA)))
        etag = head.headers["ETag"]
        expected = {
            ("If-None-Match", etag): 304,
            ("If-Match", '"other"'): 412,
            ("If-Match", etag): 200,
            ("If-None-Match", '"other"'): 200,
        }
        for (name, value), status in expected.items():
            assert tofu(alice).get(url, headers={name: value}).status_code == status, (name, value)
        resumed = tofu(alice).get(url, headers={"Range": "bytes=2-", "If-Range": etag})
        assert (resumed.status_code, resumed.getvalue()) == (206, DATA[2:])
        assert tofu(alice).get(url, headers={"Range": f"bytes={len(DATA)}-"}).status_code == 416


def test_nothing_is_linked_that_may_not_be_read(urls, tofu, alice, olga, charlie):
    plain, capability, blob = urls
    assert Client().get(plain).status_code == 401
    assert tofu(charlie).get(plain).status_code == 404
    assert Client().get(capability.replace("/archives/", "/archives/x", 1)).status_code == 403
    assert Client().get(blob).status_code == 401
    assert tofu(charlie).get(blob).status_code == 404

    lifecycle.quarantine(
        viewer=Viewer(olga), address=ModuleAddress.parse("acme/vpc/aws"), version="1.2.0", reason="Bad."
    )
    assert [tofu(alice).get(url).status_code for url in urls] == [404, 404, 404]


def test_known_damage_is_not_linked_nor_is_what_storage_lost(urls, tofu, alice, backend):
    digest = urls[2].rpartition(":")[2]
    integrity.known.value = {digest: "damaged"}
    assert [tofu(alice).get(url).status_code for url in urls] == [503, 503, 503]

    integrity.known.value = {}
    assert [tofu(alice).get(url).status_code for url in urls] == [307, 307, 307]
    backend.delete(f"sha256/{digest[:2]}/{digest}")
    assert [tofu(alice).get(url).status_code for url in urls] == [503, 503, 503]
