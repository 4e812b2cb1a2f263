"""For any path, the answer is JSON and no 5xx."""

import itertools
import json

import pytest

from tests.protocol.providers import cast
from tests.rows import for_each_row

pytestmark = pytest.mark.both

ODD = [
    "a%00b",
    "%00",
    "%ff%fe",
    "a%2Fb",
    "..",
    "%2e%2e",
    "a%0ab",
    "%F0%9F%8D%90",
    "'; drop table--",
    "a" * 3000,
    "%25",
    "a?b",
    "a%3Fb",
    "a;b",
    "~",
    "%ED%A0%80",
]


@pytest.fixture
def module(published):
    published("acme/vpc/aws", "1.2.0")


@pytest.fixture
def provider(acme):
    cast.add_version(cast.frozen_key(acme), None, "dns", "1.2.0")


@pytest.mark.slow
@for_each_row(
    "path",
    [
        "/v1/modules/{}/vpc/aws/versions",
        "/v1/modules/acme/{}/aws/versions",
        "/v1/modules/acme/vpc/{}/versions",
        "/v1/modules/acme/vpc/aws/{}/download",
        "/v1/modules/{}",
        "/v1/modules/acme/{}",
        "/v1/modules/acme/vpc/{}",
        "/v1/modules/acme/vpc/aws/{}",
        "/v1/providers/{}/dns/versions",
        "/v1/providers/acme/{}/versions",
        "/v1/providers/acme/dns/{}/download/linux/amd64",
        "/v1/providers/acme/dns/1.2.0/download/{}/amd64",
        "/v1/providers/acme/dns/1.2.0/download/linux/{}",
        "/v1/mirror/{}/acme/dns/index.json",
        "/v1/mirror/127.0.0.1/{}/dns/index.json",
        "/v1/mirror/127.0.0.1/acme/{}/index.json",
        "/archives/{}/vpc-aws-1.2.0.zip",
        "/archives/{}",
        f"/archives/{'0' * 64}/{{}}",
        f"/archives/{{}}/{'0' * 64}/vpc-aws-1.2.0.zip",
        f"/archives/1.{'0' * 43}/{'0' * 64}/{{}}",
        "/v1/{}",
    ],
)
def test_odd_names_are_answered_in_this_dialect(tofu, bob, module, provider, path):
    for odd, client in zip(ODD, itertools.cycle((tofu(bob), tofu())), strict=False):
        response = client.get(path.format(odd))
        assert response.status_code in (401, 403, 404), odd
        assert response.headers["Content-Type"] == "application/json"
        assert list(json.loads(response.content)) == ["errors"]


@for_each_row("odd", ODD)
def test_a_mirror_answers_odd_versions_as_not_here(tofu, bob, provider, odd):
    response = tofu(bob).get(f"/v1/mirror/127.0.0.1/acme/dns/{odd}.json")

    assert response.status_code in (200, 404)
    assert list(json.loads(response.content)) == (["archives"] if response.status_code == 200 else ["errors"])
