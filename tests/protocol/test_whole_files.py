"""However a whole file leaves (a thread, our server, a proxy): the same rules, the same headers, the same bytes."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.http.byte_ranges import OFFERED, WholeFile
from apps.lib.addresses import ModuleAddress
from apps.lib.net.forwarding import PROXIED
from apps.modules import lifecycle
from apps.protocol.locations import location_of
from tests.rows import for_each_row

BY_THREAD: dict[str, Any] = {}
BY_SERVER = {OFFERED: True}
BY_PROXY = {PROXIED: True}


@pytest.fixture
def urls(published, settings) -> list[str]:
    """One archive by every address that it has."""
    settings.ACCEL_REDIRECT = "/stored"
    private = published("acme/vpc/aws", "1.2.0")
    published("pantry/vpc/aws", "1.2.0", data=None)
    return [
        f"/archives/{private.digest}/vpc-aws-1.2.0.zip",
        location_of(private, now=datetime.now(tz=UTC)),
        f"/v2/acme/vpc/aws/blobs/sha256:{private.digest}",
    ]


def path_of(url: str) -> Path:
    digest = next(part for part in url.replace(":", "/").split("/") if len(part) == 64)
    return Path(settings.DATA_DIR) / "blobs" / "sha256" / digest[:2] / digest


def seen(answer: Any) -> tuple[int, dict[str, str], bytes]:
    """The answer as a client has it."""
    headers = {name: value for name, value in answer.headers.items() if name not in ("X-Request-Id", "Content-Length")}
    if isinstance(answer, WholeFile):
        return answer.status_code, headers, answer.path.read_bytes()
    if place := headers.pop("X-Accel-Redirect", None):
        file = Path(settings.DATA_DIR) / place.replace("/stored", "blobs", 1)
        return answer.status_code, headers, file.read_bytes()
    return answer.status_code, headers, answer.getvalue()


CONDITIONS: list[dict[str, str]] = [
    {},
    {"Range": "bytes=5-9"},
    {"Range": "bytes=5-9", "If-Range": '"other"'},
    {"Range": "bytes=1-2,5-6"},
    {"Range": "bytes=999999-"},
    {"If-None-Match": "*"},
    {"If-Match": '"other"'},
    {"If-Unmodified-Since": "Thu, 01 Jan 1998 00:00:00 GMT"},
]


@pytest.mark.slow
@for_each_row("way", [BY_SERVER, BY_PROXY], ids=["server", "proxy"])
def test_a_client_cannot_tell_who_sends_a_file(urls, way, tofu, alice):
    client = tofu(alice)
    for url in urls:
        client.get(url).getvalue()
        for headers in CONDITIONS:
            for ask in (client.get, client.head):
                expected = seen(ask(url, headers=headers))
                assert seen(ask(url, headers=headers, **way)) == expected, (url, headers)


def test_a_file_leaves_by_the_server_once_it_was_hashed_and_until_it_is_written(urls, tofu, alice):
    client = tofu(alice)
    for url in urls:
        path_of(url).touch()
        hashed = client.get(url, **BY_SERVER)
        assert not isinstance(hashed, WholeFile)
        assert hashed.getvalue() == path_of(url).read_bytes()
        sent = client.get(url, **BY_SERVER)
        assert isinstance(sent, WholeFile)
        assert sent.path == path_of(url)
        assert int(sent.headers["Content-Length"]) == sent.path.stat().st_size
        assert not isinstance(client.get(url), WholeFile), "this server has not offered it"

    data = path_of(urls[0]).read_bytes()
    path_of(urls[0]).chmod(0o600)
    path_of(urls[0]).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    for url in urls:
        assert client.get(url, **BY_SERVER).status_code == 503, "damage is found before it is sent"


@for_each_row("way", [BY_THREAD, BY_SERVER, BY_PROXY], ids=["thread", "server", "proxy"])
def test_nothing_leaves_that_may_not_be_read(urls, way, tofu, alice, olga):
    for url in urls:
        tofu(alice).get(url).getvalue()
    _, link, blob = urls
    forged = link.replace("/archives/", "/archives/x", 1)
    assert Client().get(forged, **way).status_code == 403
    assert Client().get(blob, **way).status_code == 401

    address = ModuleAddress.parse("acme/vpc/aws")
    lifecycle.quarantine(viewer=Viewer(olga), address=address, version="1.2.0", reason="Malware.")
    assert [tofu(alice).get(url, **way).status_code for url in urls] == [404, 404, 404]
