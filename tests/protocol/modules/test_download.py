import json
from datetime import UTC, datetime

import time_machine

from tests.rows import for_each_row

URL = "/v1/modules/acme/vpc/aws/1.2.0/download"
NOON = datetime(2026, 1, 2, 12, 3, 4, tzinfo=UTC)


def location_of(response) -> str:
    return json.loads(response.content)["location"]


def test_a_public_download_answer_is_frozen(tofu, published, frozen_zip, golden):
    published("pantry/vpc/aws", "1.2.0", data=frozen_zip)
    response = tofu().get("/v1/modules/pantry/vpc/aws/1.2.0/download")

    assert response.status_code == 200
    assert response.content == golden("modules_v1/download-public.json")
    assert response.headers["X-Terraform-Get"] == location_of(response)
    assert response.headers["Cache-Control"] == "private, no-cache"


def test_a_private_download_answer_is_frozen(tofu, bob, published, frozen_zip, golden):
    published("acme/vpc/aws", "1.2.0", data=frozen_zip)
    client = tofu(bob)
    with time_machine.travel(NOON, tick=False):
        response = client.get(URL)

    assert response.status_code == 200
    assert response.content == golden("modules_v1/download-private.json")
    assert response.headers["X-Terraform-Get"] == location_of(response)
    assert response.headers["Cache-Control"] == "no-store"


def test_the_setting_adds_the_word_for_direct_installation_and_the_location_serves_as_it_is(
    tofu, bob, published, frozen_zip, settings, golden
):
    published("acme/vpc/aws", "1.2.0", data=frozen_zip)
    settings.USE_REGISTRY_CREDENTIALS = True
    client = tofu(bob)
    with time_machine.travel(NOON, tick=False):
        response = client.get(URL)
        # OpenTofu's direct way sends the query byte for byte, with its token.
        package = client.get(location_of(response), headers={"Accept": "application/zip, application/x-tar; *;q=0.1"})

    assert response.content == golden("modules_v1/download-direct.json")
    assert json.loads(response.content)["use_registry_credentials"] is True
    assert response.headers["X-Terraform-Get"] == location_of(response)
    assert package.getvalue() == frozen_zip


@for_each_row("asked", ["1.2.1", "v1.2.0", "1.2", "latest", "1.2.0 ", "9" * 5000, "1.2.0-rc.1", "٣.1.0"])
def test_an_unknown_version_or_module_is_404_and_the_bodies_are_frozen(tofu, bob, published, golden, asked):
    published("acme/vpc/aws", "1.2.0")
    client = tofu(bob)
    response = client.get(URL.replace("1.2.0", asked))

    assert response.status_code == 404
    assert list(json.loads(response.content)) == ["errors"]
    assert client.get(URL.replace("1.2.0", "1.3.0")).content == golden("modules_v1/error-404-version.json")
    assert client.get("/v1/modules/acme/dns/aws/versions").content == golden("modules_v1/error-404-module.json")
