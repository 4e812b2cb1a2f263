"""64 clients publish one version at once, or hand in one draft, through four web processes, on both databases."""

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Sequence

import httpx
import pytest

from tests.builders.archives import module_zip
from tests.builders.providers import dist
from tests.chaos import report
from tests.chaos.world import check_invariants
from tests.flows.crashing import check_signature, make_key
from tests.live import Live

pytestmark = [pytest.mark.live, pytest.mark.nightly]

CLIENTS = 64
GROUPS = 8
PLATFORMS = (
    *("darwin_amd64", "darwin_arm64", "freebsd_amd64", "linux_386", "linux_amd64", "linux_arm", "linux_arm64"),
    *("linux_ppc64le", "linux_s390x", "openbsd_amd64", "windows_386", "windows_amd64"),
)


@pytest.fixture
def token(four_processes: Live) -> str:
    """Of the admin, who may publish in acme."""
    found = four_processes.token()
    with four_processes.client(found) as client:
        client.put("/api/v1/namespaces/acme", json={"visibility": "private"}).raise_for_status()
    return found


def all_at_once(larder: Live, method: str, path: str, token: str, bodies: Sequence[bytes]) -> list[httpx.Response]:
    """Each over a connection of its own."""

    async def one(body: bytes) -> httpx.Response:
        async with httpx.AsyncClient(base_url=larder.url, verify=larder.tls, timeout=60) as client:
            return await client.request(method, path, content=body, headers={"Authorization": f"Bearer {token}"})

    async def everybody() -> list[httpx.Response]:
        return await asyncio.gather(*(one(body) for body in bodies))

    answers = asyncio.run(everybody())
    report.answered(Counter(answer.status_code for answer in answers))
    return answers


def check_one_stands(larder: Live, token: str, address: str, answers: Sequence[httpx.Response], data: bytes) -> None:
    """All whose upload was welcome were told of one release, which has these bytes and is the only one."""
    sent = time.monotonic()
    [number] = {answer.json()["id"] for answer in answers if answer.status_code in (200, 202)}
    with larder.client(token) as client:
        ended = larder.wait_for(client, f"/api/v1/releases/{number}")
        assert (ended["state"], ended["digest"]) == ("published", f"sha256:{hashlib.sha256(data).hexdigest()}")
        listed = client.get(f"/v1/modules/{address}/versions").json()["modules"][0]["versions"]
    assert [one["version"] for one in listed] == ["1.0.0"]
    check_invariants(larder, "acme")
    report.measured(recovery=round(time.monotonic() - sent, 1))


@pytest.mark.full
def test_of_64_clients_one_wins_and_63_read_409(four_processes, token):
    larder = four_processes
    bodies = [module_zip(comment=f"client {number}".encode()) for number in range(CLIENTS)]

    answers = all_at_once(larder, "PUT", "/api/v1/modules/acme/vpc/aws/1.0.0", token, bodies)

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [202] + [409] * (CLIENTS - 1)
    winner = next(body for body, answer in zip(bodies, answers, strict=True) if answer.status_code == 202)
    check_one_stands(larder, token, "acme/vpc/aws", answers, winner)
    with larder.client(token) as client:
        again = client.put("/api/v1/modules/acme/vpc/aws/1.0.0", content=winner)
        assert again.status_code == 200, "the same bytes again are no conflict"
        refused = client.put("/api/v1/modules/acme/vpc/aws/1.0.0", content=bodies[0] + b"x")
        assert refused.status_code == 409
        assert hashlib.sha256(winner).hexdigest() in refused.text, "a conflict names the digest that is published"


def test_of_64_equal_uploads_all_are_welcome_and_one_version_stands(four_processes, token):
    larder = four_processes
    answers = all_at_once(larder, "PUT", "/api/v1/modules/acme/network/aws/1.0.0", token, [module_zip()] * CLIENTS)

    assert {answer.status_code for answer in answers} <= {200, 202}
    check_one_stands(larder, token, "acme/network/aws", answers, module_zip())


def test_of_64_uploads_in_groups_of_equal_ones_one_group_is_welcome(four_processes, token):
    larder = four_processes
    bodies = [module_zip(comment=f"group {number % GROUPS}".encode()) for number in range(CLIENTS)]

    answers = all_at_once(larder, "PUT", "/api/v1/modules/acme/mixed/aws/1.0.0", token, bodies)

    statuses: dict[bytes, set[int]] = {}
    for body, answer in zip(bodies, answers, strict=True):
        statuses.setdefault(body, set()).add(answer.status_code)
    [winner] = (body for body, seen in statuses.items() if seen <= {200, 202})
    assert [seen for body, seen in statuses.items() if body != winner] == [{409}] * (GROUPS - 1)
    check_one_stands(larder, token, "acme/mixed/aws", answers, winner)


def test_of_64_who_hand_in_twelve_platforms_all_hear_of_one_release(four_processes, tmp_path):
    larder, namespace = four_processes, "platforms"
    token = larder.token()
    url = f"/api/v1/providers/{namespace}/dns/1.0.0"
    with larder.client(token) as client:
        make_key(client, namespace, "ed25519")
        client.post(url, json={"protocols": ["5.0"]}).raise_for_status()
        files = dist("dns", "1.0.0", PLATFORMS, protocols=())
        packages = {name: data for name, data in files.items() if name.endswith(".zip")}
        for name, data in packages.items():
            client.put(f"{url}/files/{name}", content=data).raise_for_status()

        answers = all_at_once(larder, "POST", f"{url}/publish", token, [b""] * CLIENTS)

        sent = time.monotonic()
        assert {answer.status_code for answer in answers} == {202}
        [number] = {answer.json()["id"] for answer in answers}
        assert larder.wait_for(client, f"/api/v1/releases/{number}")["state"] == "published"
        [listed] = client.get(f"/v1/providers/{namespace}/dns/versions").json()["versions"]
        assert {f"{one['os']}_{one['arch']}" for one in listed["platforms"]} == set(PLATFORMS)
        for platform in PLATFORMS:
            found = client.get(f"/v1/providers/{namespace}/dns/1.0.0/download/{platform.replace('_', '/')}").json()
            assert found["shasum"] == hashlib.sha256(packages[found["filename"]]).hexdigest()
        check_signature(client, namespace, "1.0.0", tmp_path)
    assert larder.query("SELECT count(*) FROM jobs_job WHERE kind = 'publish-provider'") == 1
    check_invariants(larder, namespace)
    report.measured(recovery=round(time.monotonic() - sent, 1))
