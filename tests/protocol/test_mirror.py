"""The provider network mirror: /v1/mirror/<hostname>/<namespace>/<type>/index.json and /<version>.json"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import time_machine
from django.conf import settings
from django.test import Client

from apps.releases.catalogue import downloads
from apps.releases.models import DownloadCount, Lifecycle, Release
from tests.protocol.providers import cast
from tests.rows import for_each_row

HOST = "registry.acme.example"
INDEX = f"/v1/mirror/{HOST}/acme/dns/index.json"
VERSION = f"/v1/mirror/{HOST}/acme/dns/1.2.0.json"
NOON = datetime(2026, 1, 2, 12, 3, 4, tzinfo=UTC)
NOT_HERE = b'{"archives":{}}'


@pytest.fixture(autouse=True)
def hostnames(settings):
    settings.HOSTNAMES = frozenset({HOST, "xn--bcher-kva.example"})


@pytest.fixture
def dns(acme, pantry):
    for namespace in (acme, pantry):
        key = cast.frozen_key(namespace)
        for number in ("1.2.0", "2.0.0-rc.1", "1.10.0"):
            cast.add_version(key, None, "dns", number)


def versions(response) -> list[str]:
    return list(json.loads(response.content)["versions"])


def archives(response) -> dict[str, dict]:
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    return json.loads(response.content)["archives"]


def test_m18_the_index_is_frozen(tofu, bob, dns, golden):
    response = tofu(bob).get(INDEX)

    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert response.content == golden("providers_v1/mirror-index.json")


def test_m18_the_version_document_is_frozen(tofu, bob, dns, golden):
    client = tofu(bob)
    with time_machine.travel(NOON, tick=False):
        response = client.get(VERSION)

    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert response.headers["Cache-Control"] == "no-store"
    assert response.content == golden("providers_v1/mirror-version.json")


def test_case_26_every_answer_is_called_json_and_the_documents_name_the_base_with_its_slash(tofu, bob, dns):
    """A client refuses another type, and asks beside the mirror where its base has no slash at the end."""
    client = tofu(bob)
    for path in (INDEX, VERSION, INDEX.replace("dns", "nothing"), VERSION.replace("1.2.0", "9.9.9")):
        assert client.get(path).headers["Content-Type"] == "application/json", path
    text = (Path(settings.BASE_DIR) / "docs/providers.md").read_text()
    bases = re.findall(r'network_mirror \{\s+url\s+= "([^"]+)"', text)
    assert bases
    assert all(base.endswith("/v1/mirror/") for base in bases)


def test_s6_both_hashes_of_every_platform_are_there_and_the_urls_need_no_token(tofu, dns):
    found = archives(tofu().get(VERSION.replace("acme/dns", "pantry/dns")))

    assert sorted(found) == ["darwin_arm64", "linux_amd64"]
    for entry in found.values():
        assert [one.partition(":")[0] for one in entry["hashes"]] == ["h1", "zh"]
        assert Client().head(entry["url"]).status_code == 200


def test_d8_what_is_hidden_is_not_here(tofu, dns, alice, bob, charlie, olga):
    """Never a 401: it would end `init`, and the next installation method would not be asked."""
    for who, status in ((alice, 200), (bob, 200), (charlie, 404), (olga, 200), (None, 404)):
        client = tofu(who)
        assert client.get(INDEX).status_code == status, who
        assert bool(archives(client.get(VERSION))) is (status == 200), who


@for_each_row("path", [f"{HOST}/acme/nothing", f"{HOST}/none/dns", "registry.other.example/acme/dns"])
def test_d8_what_is_unknown_reads_as_what_is_hidden(tofu, dns, bob, charlie, path):
    hidden = tofu(charlie).get(INDEX)
    for who in (bob, charlie, None):
        index = tofu(who).get(f"/v1/mirror/{path}/index.json")
        assert (index.status_code, index.content) == (404, hidden.content), who
        assert tofu(who).get(f"/v1/mirror/{path}/1.2.0.json").content == NOT_HERE, who


@for_each_row("version", ["9.9.9", "v1.2.0", "1.2", "nonsense", "..", "9" * 3000])
def test_m18_a_version_that_is_not_here_has_no_archives(tofu, bob, dns, version):
    """A 404 would end `init` ("does not have archive index")."""
    assert tofu(bob).get(VERSION.replace("1.2.0", version)).content == NOT_HERE


def test_d8_credentials_that_do_not_count_are_told_so(dns):
    client = Client(headers={"Authorization": "Bearer nonsense"})

    assert {client.get(url).status_code for url in (INDEX, VERSION)} == {401}


def test_a_yanked_version_leaves_the_index_and_a_quarantined_one_everything(tofu, bob, dns):
    client = tofu(bob)
    Release.objects.filter(version="1.2.0").update(lifecycle=Lifecycle.YANKED)
    assert versions(client.get(INDEX)) == ["2.0.0-rc.1", "1.10.0"]
    assert archives(client.get(VERSION))
    Release.objects.filter(version="1.2.0").update(quarantined_at=cast.FIRST)
    assert client.get(VERSION).content == NOT_HERE


@for_each_row("asked", ["Registry.ACME.example", "b%C3%BCcher.example"])
def test_d22_host_names_are_compared_as_clients_do(tofu, bob, dns, asked):
    assert tofu(bob).get(INDEX.replace(HOST, asked)).status_code == 200


@for_each_row("asked", ["registry.acme.example:443", "acme.example", "..", "%20", "registry.acme.example."])
def test_d22_other_hosts_are_not_here(tofu, bob, dns, asked):
    assert tofu(bob).get(INDEX.replace(HOST, asked)).status_code == 404
    assert tofu(bob).get(VERSION.replace(HOST, asked)).content == NOT_HERE


def test_an_answer_for_archives_is_one_download_and_not_here_is_none(tofu, bob, dns, monkeypatch):
    notes = downloads.DownloadBuffer()
    monkeypatch.setattr(downloads, "record_download", notes.record_download)
    client = tofu(bob)
    for url in (INDEX, VERSION, VERSION.replace("1.2.0", "9.9.9")):
        client.get(url)
    client.head(VERSION)
    notes.flush()

    assert [(row.client, row.count) for row in DownloadCount.objects.all()] == [("OpenTofu 1.12.6", 1)]


def test_documents_cost_the_same_at_any_length(tofu, bob, dns, acme, django_assert_max_num_queries):
    for position in range(9):
        cast.add_row(acme.signing_keys.get(), "dns", f"9.{position}.0", sums="a" * 64, signature="b" * 64)
    client = tofu(bob)
    for url in (INDEX, VERSION):
        with django_assert_max_num_queries(3):  # token, gate, versions or packages
            assert client.get(url).status_code == 200
