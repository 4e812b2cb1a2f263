"""Recorded requests of update bots, and the fields they read. Each begins with discovery."""

import json
from urllib.parse import urljoin

import pytest

from apps.modules.models import Module
from tests.protocol import catalogue

HOST = "https://registry.example.com"


@pytest.fixture
def vpc(acme, pantry, hall):
    return catalogue.fill(acme, pantry, hall)


@pytest.fixture
def bot(tofu, bob):
    """A client that follows discovery, with the user agent of a bot: `bot("tfupdate/0.9.3", "acme/vpc/aws")`."""

    def ask(agent, path):
        client = tofu(bob)
        headers = {"User-Agent": agent, "Accept": "application/json"}
        services = json.loads(client.get("/.well-known/terraform.json", headers=headers).content)
        url = urljoin(urljoin(HOST, services["modules.v1"]), path)
        response = client.get(url.removeprefix(HOST), headers=headers)
        assert response.status_code == 200, response.content
        assert response.headers["Content-Type"] == "application/json"
        return json.loads(response.content)

    return ask


def test_renovate_reads_versions_and_the_repository(bot, vpc):
    """terraform-module datasource on a host of one's own: `/versions`; `source` counts where it is a URL."""
    document = bot("RenovateBot/39.0.0 (https://github.com/renovatebot/renovate)", "acme/vpc/aws/versions")

    (module,) = document["modules"]
    assert [one["version"] for one in module["versions"]] == ["2.0.0-rc.1", "1.10.0", "1.2.0"]
    # Without it, `minimumReleaseAge` takes no version at all.
    assert module["versions"][1]["published_at"] == "2026-01-03T03:04:05.060000Z"
    assert module["source"] == catalogue.REPOSITORY


def test_renovate_reads_the_extended_document(bot, vpc):
    """On hosts that it knows by name: the latest version, compared with what it asked for, and its date."""
    document = bot("RenovateBot/39.0.0 (https://github.com/renovatebot/renovate)", "acme/vpc/aws")

    assert "/".join(document[part] for part in ("namespace", "name", "provider")) == "acme/vpc/aws"
    assert document["version"] in document["versions"]
    assert document["source"] == catalogue.REPOSITORY
    assert document["published_at"] == "2026-01-03T03:04:05.060000Z"


def test_updatecli_reads_exactly_one_module_and_its_source(bot, vpc):
    document = bot("updatecli/0.110.0", "acme/vpc/aws/versions")

    assert len(document["modules"]) == 1
    assert [one["version"] for one in document["modules"][0]["versions"]] == ["2.0.0-rc.1", "1.10.0", "1.2.0"]
    assert document["modules"][0]["source"].startswith("https://")


def test_tfupdate_reads_the_latest_version_and_all_of_them(bot, vpc):
    """Up to 0.8 by the details of the latest, since then by `/versions`."""
    document = bot("Go-http-client/1.1", "acme/vpc/aws")

    assert (document["version"], document["versions"]) == ("1.10.0", ["1.2.0", "1.10.0", "2.0.0-rc.1"])
    assert bot("Go-http-client/1.1", "acme/vpc/aws/versions")["modules"][0]["versions"][0]["version"] == "2.0.0-rc.1"


def test_without_a_repository_there_is_no_url_to_follow(bot, vpc):
    Module.objects.update(source_url="")

    assert bot("updatecli/0.110.0", "acme/vpc/aws/versions")["modules"][0]["source"] == "acme/vpc/aws"
    assert bot("RenovateBot/39.0.0", "acme/vpc/aws")["source"] == ""
