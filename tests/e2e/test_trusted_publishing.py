"""CI publishes a module and a provider with an id token alone, in each vendor's shape, to a Larder that runs."""

import json
import time

import pytest

from tests.accounts.identity.trusted.conftest import claims_of
from tests.builders import ci_issuer, providers
from tests.builders.archives import module_zip
from tests.builders.ci_claims import SHAPES
from tests.live import start_live

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def issuer():
    keys = {algorithm: ci_issuer.new_key(algorithm) for algorithm in ci_issuer.ALGORITHMS}
    with ci_issuer.running(keys) as found:
        yield found


@pytest.fixture(scope="module")
def larder(tmp_path_factory, issuer):
    with start_live(tmp_path_factory.mktemp("trusting"), LARDER_TRUSTED_ISSUERS=issuer.url) as found:
        yield found


@pytest.fixture(scope="module")
def owner(larder):
    """The admin, with a private namespace whose key the registry holds."""
    with larder.client(larder.token()) as client:
        client.put("/api/v1/namespaces/acme", json={"visibility": "private"}).raise_for_status()
        client.post("/api/v1/namespaces/acme/keys", json={"generate": "ed25519"}).raise_for_status()
        deadline = time.monotonic() + 60
        while not any(key["state"] == "active" for key in client.get("/api/v1/namespaces/acme/keys").json()["keys"]):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield client


def run_token(larder, issuer, kind, address):
    """What a job does first: no stored secret, only what its vendor signed."""
    # Each address is published by a job of its own.
    own = {"job_id": address} | ({} if kind == "azure" else {"aud": larder.url})
    claims = claims_of(issuer, SHAPES[kind], **own)
    body = {"token": issuer.signed(claims, algorithm="ES256"), "address": address}
    with larder.client() as nobody:
        answer = nobody.post("/api/v1/trusted-publishing/token", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["token"]


@pytest.mark.parametrize("kind", SHAPES)
def test_a_run_publishes_a_module_and_a_provider_with_an_id_token_alone(kind, larder, issuer, owner):
    rules = "/api/v1/namespaces/acme/trusted-publishers"
    rule = {"kind": kind, "issuer": issuer.url, **SHAPES[kind].rule}
    for only_name in (f"vpc/{kind}", kind):
        added = owner.post(rules, json={**rule, "only_name": only_name})
        assert added.status_code == 201, added.text
        assert added.json()["claims"]["iss"] == issuer.url
    machine = added.json()["publishes_as"]

    address = f"acme/vpc/{kind}"
    module = larder.publish(address, "1.0.0", module_zip(), run_token(larder, issuer, kind, address))
    assert module["state"] == "published", json.dumps(module)

    token = run_token(larder, issuer, kind, f"acme/{kind}")
    draft = f"/api/v1/providers/acme/{kind}/1.0.0"
    with larder.client(token) as run:
        run.post(draft, json={"protocols": ["5.0"]}).raise_for_status()
        for name, data in providers.dist(kind, "1.0.0", ["linux_amd64"]).items():
            if name.endswith(".zip"):
                run.put(f"{draft}/files/{name}", content=data).raise_for_status()
        received = run.post(f"{draft}/publish")
        received.raise_for_status()
        provider = larder.wait_for(run, f"/api/v1/releases/{received.json()['id']}")
        assert provider["state"] == "published", json.dumps(provider)
        assert run.put(f"/api/v1/modules/{address}/1.0.1", content=module_zip()).status_code == 403
    assert owner.get(f"{draft}/details").json()["published_by"] == machine
    attempts = owner.get(f"{rules}/attempts").json()["attempts"]
    assert [one["accepted"] for one in attempts[:2]] == [True, True]
