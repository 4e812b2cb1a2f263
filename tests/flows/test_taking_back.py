"""A yank and a quarantine hold on every process from the moment that the verb has answered, on both databases."""

import asyncio
import time
from collections import Counter

import httpx
import pytest

from tests.builders.archives import module_zip
from tests.live import Live

pytestmark = pytest.mark.live

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
    token = larder.token()
    with larder.client(token) as client:
        client.put("/api/v1/namespaces/acme", json={"visibility": "private"}).raise_for_status()
    for version in ("1.0.0", "1.1.0"):
        assert larder.publish(address, version, archive(address, version), token)["state"] == "published"
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
