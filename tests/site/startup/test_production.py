"""compose.production.yaml: its commands and variables run, its nginx in front, and only one of them signs."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.builders.archives import module_zip
from tests.flows.crashing import check_signature, hand_in, make_key
from tests.production import OURS, Stack, running

pytestmark = pytest.mark.live

WHO_SIGNED = """
from apps.jobs.models import Job
for job in Job.objects.filter(kind__in=("make-signing-key", "sign-release")):
    print(job.worker.split(":")[1])
"""


@pytest.fixture(scope="module")
def production(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("production")) as stack:
        yield stack


def test_every_command_serves_and_only_the_signing_worker_signs(production: Stack, tmp_path: Path) -> None:
    larder = production.live
    token = larder.token()
    with larder.client(token) as client:
        make_key(client, "acme", "ed25519")
        module = larder.publish("acme/vpc/aws", "1.0.0", module_zip(), token)
        provider = larder.wait_for(client, hand_in(client, "acme", "1.0.0"))
        assert [module["state"], provider["state"]] == ["published", "published"], production.logs()
        check_signature(client, "acme", "1.0.0", tmp_path)
        location = client.get("/v1/modules/acme/vpc/aws/1.0.0/download").json()["location"].partition("?")[0]
        assert client.get(location, follow_redirects=True).content == module_zip()

    signed_by = set(larder.manage("shell", "--no-imports", "-v", "0", "-c", WHO_SIGNED).split())
    assert signed_by == {str(production.processes["signing-worker-0"].pid)}


def test_both_web_servers_answer_pages_and_probes(production: Stack) -> None:
    with production.live.client() as client:
        assert client.get("/account/login/").status_code == 200
    for port in production.webs.values():
        # As a probe asks: by an address that is not the public one.
        assert httpx.get(f"http://127.0.0.1:{port}/readyz", headers={"Host": "10.1.2.3:8080"}).status_code == 200


def test_no_other_process_can_open_private_keys(production: Stack) -> None:
    named = [name for name, one in OURS.items() if "larder_signing_kek" in one["secrets"]]
    said = production.live.manage("check", "--deploy", "--fail-level", "ERROR")

    assert named == ["signing-worker"]
    assert "E009" not in said
