"""A yank and a quarantine hold on every process from the moment that the verb has answered, on both databases."""

import asyncio
import os
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.builders.archives import MODULE, module_zip
from tests.chaos import report
from tests.chaos.world import check_invariants
from tests.live import Live

pytestmark = pytest.mark.live

DOWNLOADS = 32
BUFFER = 64 * 1024
REQUESTS = 60  # of four processes, one that answers otherwise would be missed once in 30 million runs


def ask(larder: Live, path: str, token: str, times: int = REQUESTS) -> list[httpx.Response]:
    """Each over a connection of its own, so that every process has its share; 25 at once."""

    async def everybody() -> list[httpx.Response]:
        gate = asyncio.Semaphore(25)

        async def one() -> httpx.Response:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            async with (
                gate,
                httpx.AsyncClient(base_url=larder.url, verify=larder.tls, timeout=60, headers=headers) as client,
            ):
                return await client.get(path)

        return await asyncio.gather(*(one() for _ in range(times)))

    return asyncio.run(everybody())


def listed(answer: httpx.Response) -> list[str]:
    return [one["version"] for one in answer.json()["modules"][0]["versions"]]


def archive(address: str, version: str) -> bytes:
    return module_zip(comment=f"{address} {version}".encode())


def publish_two(larder: Live, address: str) -> str:
    """1.0.0 and 1.1.0, with bytes that no other test has; answers a token."""
    for version in ("1.0.0", "1.1.0"):
        token = publish(larder, address, version, archive(address, version))
    return token


def publish(larder: Live, address: str, version: str, data: bytes) -> str:
    token = larder.token()
    with larder.client(token) as client:
        client.put("/api/v1/namespaces/acme", json={"visibility": "private"}).raise_for_status()
    assert larder.publish(address, version, data, token)["state"] == "published"
    return token


def test_no_process_lists_a_yanked_version_once_the_verb_has_answered(four_processes):
    larder, address = four_processes, "acme/yanked/aws"
    token = publish_two(larder, address)
    with larder.client(token) as client:
        location = client.get(f"/v1/modules/{address}/1.1.0/download").json()["location"]
    assert {tuple(listed(answer)) for answer in ask(larder, f"/v1/modules/{address}/versions", token, 40)} == {
        ("1.1.0", "1.0.0")
    }
    with larder.client(token) as client:
        client.post(f"/api/v1/modules/{address}/1.1.0/yank", json={"reason": "It loses data."}).raise_for_status()

    answers = ask(larder, f"/v1/modules/{address}/versions", token)
    assert Counter(tuple(listed(answer)) for answer in answers) == {("1.0.0",): REQUESTS}
    with larder.client(token) as client:
        assert client.get(f"/v1/modules/{address}/1.1.0/download").status_code == 200
    with larder.client() as anybody:
        assert anybody.get(location).content == archive(address, "1.1.0")


def test_no_process_serves_a_quarantined_version_nor_a_purged_one(four_processes):
    larder, address = four_processes, "acme/purged/aws"
    token = publish_two(larder, address)
    with larder.client(token) as client:
        location = client.get(f"/v1/modules/{address}/1.1.0/download").json()["location"]
        assert {answer.status_code for answer in ask(larder, location, "", 40)} == {200}
        client.post(f"/api/v1/modules/{address}/1.1.0/quarantine", json={"reason": "Malware."}).raise_for_status()

        for path, who in ((location, ""), (f"/v1/modules/{address}/1.1.0/download", token)):
            assert Counter(answer.status_code for answer in ask(larder, path, who)) == {404: REQUESTS}
        assert {tuple(listed(one)) for one in ask(larder, f"/v1/modules/{address}/versions", token)} == {("1.0.0",)}

        body = {"reason": "Malware.", "confirm": f"{address} 1.1.0"}
        client.post(f"/api/v1/modules/{address}/1.1.0/purge", json=body).raise_for_status()
        digest = location.rpartition("sha256:")[2]
        deadline = time.monotonic() + 60
        while larder.stored(f"sha256/{digest[:2]}") & {f"sha256/{digest[:2]}/{digest}"}:
            assert time.monotonic() < deadline, "the worker deletes the bytes"
            time.sleep(0.1)
        again = client.put(f"/api/v1/modules/{address}/1.1.0", content=archive(address, "1.1.0"))
        assert again.status_code == 409
        assert "was removed on" in again.text


@contextmanager
def under_way(larder: Live, location: str) -> Iterator[list[list[bytes]]]:
    """Clients that have read the first bytes, and read the rest when the block ends: the list is filled with them."""
    read: list[list[bytes]] = []
    with ExitStack() as open_ones:
        rest = []
        for _ in range(DOWNLOADS):
            options = [(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)]
            client = larder.client(transport=httpx.HTTPTransport(verify=larder.tls, socket_options=options))
            answer = open_ones.enter_context(open_ones.enter_context(client).stream("GET", location))
            rest.append(answer.raise_for_status().iter_raw())
            read.append([next(rest[-1])])
        yield read
        for parts, more in zip(read, rest, strict=True):
            parts.extend(more)


def test_32_downloads_under_way_end_and_no_other_begins_once_the_verb_has_answered(four_processes):
    """A yanked version is not listed any more, and still there for who asks for its archive; quarantine blocks that."""
    larder, address = four_processes, "acme/under-way/aws"
    token = publish(larder, address, "1.0.0", archive(address, "1.0.0"))
    # More than the kernel keeps for a client that does not read: the server is done with none of them.
    data = module_zip({**MODULE, "large.bin": os.urandom(kept_by_the_kernel() + 2_000_000)})
    publish(larder, address, "1.2.0", data)
    with larder.client(token) as client:
        location = client.get(f"/v1/modules/{address}/1.2.0/download").json()["location"].partition("?")[0]
        part = {"Range": f"bytes={BUFFER}-{BUFFER + 9}"}
        with under_way(larder, location) as downloads:
            client.post(f"/api/v1/modules/{address}/1.2.0/yank", json={"reason": "Bad."}).raise_for_status()
            assert {tuple(listed(one)) for one in ask(larder, f"/v1/modules/{address}/versions", token)} == {("1.0.0",)}
            assert client.get(location, headers=part).status_code == 206

            client.post(f"/api/v1/modules/{address}/1.2.0/quarantine", json={"reason": "Bad."}).raise_for_status()
            answered = time.monotonic()
            begun = Counter(answer.status_code for answer in ask(larder, location, ""))
            assert client.get(location, headers=part).status_code == 404
            assert [len(parts) for parts in downloads] == [1] * DOWNLOADS
    ended = Counter("whole" if b"".join(parts) == data else "not whole" for parts in downloads)

    report.answered(begun)
    report.measured(recovery=round(time.monotonic() - answered, 1), downloads=f"under way: {dict(ended)}")
    assert begun == {404: REQUESTS}
    assert ended == {"whole": DOWNLOADS}
    check_invariants(larder, "acme")


def kept_by_the_kernel() -> int:
    """Return how many bytes a connection buffers on both sides at most."""
    return int(Path("/proc/sys/net/ipv4/tcp_wmem").read_text().split()[2]) + 2 * BUFFER
