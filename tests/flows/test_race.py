"""64 clients publish different bytes as one version, through four web processes, on both databases."""

import asyncio
import hashlib

import httpx
import pytest

from tests.builders.archives import module_zip
from tests.live import Live

pytestmark = pytest.mark.live

CLIENTS = 64


def put_all(larder: Live, path: str, token: str, bodies: list[bytes]) -> list[httpx.Response]:
    """All at once, each over a connection of its own."""

    async def one(body: bytes) -> httpx.Response:
        async with httpx.AsyncClient(base_url=larder.url, verify=larder.tls, timeout=60) as client:
            return await client.put(path, content=body, headers={"Authorization": f"Bearer {token}"})

    async def everybody() -> list[httpx.Response]:
        return await asyncio.gather(*(one(body) for body in bodies))

    return asyncio.run(everybody())


@pytest.mark.full
def test_of_64_clients_one_wins_and_63_read_409(four_processes):
    larder = four_processes
    token = larder.token()
    with larder.client(token) as client:
        client.put("/api/v1/namespaces/acme", json={"visibility": "private"}).raise_for_status()
    bodies = [module_zip(comment=f"client {number}".encode()) for number in range(CLIENTS)]

    answers = put_all(larder, "/api/v1/modules/acme/vpc/aws/1.0.0", token, bodies)

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [202] + [409] * (CLIENTS - 1)
    winner = next(body for body, answer in zip(bodies, answers, strict=True) if answer.status_code == 202)
    digest = hashlib.sha256(winner).hexdigest()
    with larder.client(token) as client:
        document = next(answer.json() for answer in answers if answer.status_code == 202)
        ended = larder.wait_for(client, f"/api/v1/releases/{document['id']}")
        assert ended["digest"] == f"sha256:{digest}"
        listed = client.get("/v1/modules/acme/vpc/aws/versions").json()["modules"][0]["versions"]
        assert listed == [{"version": "1.0.0"}]
        again = client.put("/api/v1/modules/acme/vpc/aws/1.0.0", content=winner)
        assert again.status_code == 200, "the same bytes again are no conflict"
        refused = client.put("/api/v1/modules/acme/vpc/aws/1.0.0", content=bodies[0] + b"x")
        assert refused.status_code == 409
        assert digest in refused.text, "a conflict names the digest that is published"


def test_of_64_equal_uploads_all_are_welcome_and_one_version_stands(four_processes):
    larder = four_processes
    token = larder.token()
    with larder.client(token) as client:
        client.put("/api/v1/namespaces/acme", json={"visibility": "private"}).raise_for_status()

    answers = put_all(larder, "/api/v1/modules/acme/network/aws/1.0.0", token, [module_zip()] * CLIENTS)

    assert {answer.status_code for answer in answers} <= {200, 202}
    assert len({answer.json()["id"] for answer in answers}) == 1
