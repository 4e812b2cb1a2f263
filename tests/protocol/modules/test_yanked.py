"""A yanked version is in no list, but its exact download and its archive still answer (D9)."""

import json

import pytest

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle

pytestmark = pytest.mark.both

VERSIONS = "/v1/modules/acme/vpc/aws/versions"
DOWNLOAD = "/v1/modules/acme/vpc/aws/1.2.0/download"


@pytest.fixture
def act(olga):
    def do(verb, version="1.2.0"):
        return verb(
            viewer=Viewer(olga), address=ModuleAddress("acme", "vpc", "aws"), version=version, reason="It loses data."
        )

    return do


def listed(client):
    found = json.loads(client.get(VERSIONS).content)["modules"][0]["versions"]
    return [one["version"] for one in found]


def test_a_yanked_version_leaves_the_list_and_comes_back_when_it_is_restored(published, tofu, bob, act):
    published(version="1.2.0")
    published(version="1.1.0")
    client = tofu(bob)
    assert listed(client) == ["1.2.0", "1.1.0"]
    act(lifecycle.yank)
    assert listed(client) == ["1.1.0"]
    act(lifecycle.restore)
    assert listed(client) == ["1.2.0", "1.1.0"]


def test_a_deprecated_version_stays_listed(published, tofu, bob, act):
    published()
    act(lifecycle.deprecate)

    assert listed(tofu(bob)) == ["1.2.0"]


def test_its_exact_download_and_its_archive_still_answer(published, tofu, bob, act, client, frozen_zip):
    published(data=frozen_zip)
    before = tofu(bob).get(DOWNLOAD)
    act(lifecycle.yank)
    after = tofu(bob).get(DOWNLOAD)

    assert after.status_code == 200
    for answer in (before, after):
        assert client.get(answer.headers["X-Terraform-Get"]).getvalue() == frozen_zip


def test_where_all_are_yanked_the_list_is_empty_and_no_404(published, tofu, bob, charlie, act):
    """Clients then say that the module has no versions; a 404 would send people looking for a spelling mistake."""
    published()
    act(lifecycle.yank)
    response = tofu(bob).get(VERSIONS)

    assert response.status_code == 200
    assert listed(tofu(bob)) == []
    assert (tofu(charlie).get(VERSIONS).status_code, tofu().get(VERSIONS).status_code) == (404, 401)
