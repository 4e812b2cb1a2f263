"""Names with capitals and `_` in every dialect: they stay as registered, and their other spellings are taken (D10)."""

import html
import json
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Scope, Visibility
from apps.artifacts import gc
from apps.artifacts.models import Manifest
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from tests.builders.archives import MODULE, module_zip
from tests.oci.manifests.documents import Repo, attached, digest_of, package
from tests.protocol.providers import cast

MODULE_PATH = "/v1/modules/Azure/My_AKS/azurerm"
REPOSITORY = "azure/my_aks/azurerm"
ZIP = module_zip()


@pytest.fixture
def azure(alice, bearer, client):
    """Alice's public namespace, made as a script makes it."""
    body = json.dumps({"visibility": "public"})
    answer = client.put("/api/v1/namespaces/Azure", body, content_type="application/json", headers=bearer(alice))
    assert answer.status_code == 201, answer.content
    return Namespace.objects.get(name="Azure")


@pytest.fixture
def put(alice, bearer, client, work):
    """`put("Azure/My_AKS/azurerm")`: the answer to a publish, when a worker has looked at it."""

    def send(address, version="1.0.0", data=ZIP, **token):
        headers = bearer(alice, Scope.PUBLISH, **token)
        path = f"/api/v1/modules/{address}/{version}"
        answer = client.put(path, data, content_type="application/zip", headers=headers)
        work()
        return answer

    return send


@pytest.mark.both
def test_a_module_keeps_its_letters_and_answers_to_no_others(azure, put, client):
    assert put("Azure/My_AKS/azurerm").status_code == 202

    (listed,) = client.get(f"{MODULE_PATH}/versions").json()["modules"][0]["versions"]
    assert listed["version"] == "1.0.0"
    assert client.get(f"{MODULE_PATH}/1.0.0/download").status_code == 200
    assert client.get("/v1/modules/Azure/my_aks/azurerm/versions").status_code == 404
    assert client.get("/v1/modules/Azure/My-AKS/azurerm/versions").status_code == 404
    assert client.get("/v1/modules/azure/My_AKS/azurerm/versions").status_code == 404
    page = html.unescape(client.get("/modules/Azure/My_AKS/azurerm/1.0.0").content.decode())
    assert f'"{settings.PUBLIC_HOST}/Azure/My_AKS/azurerm"' in page
    assert f"oci://{settings.PUBLIC_HOST}/{REPOSITORY}?tag=1.0.0" in page
    assert client.get("/modules/azure/my_aks/azurerm/1.0.0").status_code in (302, 404)
    assert "Azure/My_AKS/azurerm" in client.get("/modules?q=azure+my_aks").content.decode()


def test_names_that_differ_in_letter_case_or_separators_are_taken(azure, put, alice, bearer, client):
    for name in ("azure", "AZURE"):
        body = json.dumps({"visibility": "public"})
        url = f"/api/v1/namespaces/{name}"
        answer = client.put(url, body, content_type="application/json", headers=bearer(alice))
        assert answer.status_code == 409
        assert "too close to Azure" in answer.json()["error"]["message"]

    put("Azure/My_AKS/azurerm")
    for name in ("my_aks", "My-AKS", "MY_AKS"):
        answer = put(f"Azure/{name}/azurerm", "1.1.0")
        assert answer.status_code == 409
        assert "My_AKS/azurerm already exists" in answer.json()["error"]["message"]


@pytest.mark.both
def test_lists_sort_capitals_with_small_letters_and_the_ledger_has_none(azure, put, client, stored_files):
    for name in ("beta", "Gamma", "Alpha"):
        put(f"Azure/{name}/azurerm")

    listed = client.get("/v1/modules/Azure").json()["modules"]
    assert [one["name"] for one in listed] == ["Alpha", "beta", "Gamma"]
    assert "ledger/module/azure/gamma/azurerm/1.0.0.json" in stored_files()


def test_its_repository_is_in_lower_case_and_keeps_dash_and_underscore(azure, put, client):
    put("Azure/My_AKS/azurerm")

    assert client.get(f"/v2/{REPOSITORY}/tags/list").json() == {"name": REPOSITORY, "tags": ["1.0.0", "latest"]}
    manifest = client.get(f"/v2/{REPOSITORY}/manifests/1.0.0")
    digest = manifest.json()["layers"][0]["digest"]
    assert client.get(f"/v2/{REPOSITORY}/blobs/{digest}").getvalue() == ZIP
    assert client.get(f"/v2/{REPOSITORY}/blobs/{manifest.json()['config']['digest']}").status_code == 200
    by_digest = f"/v2/{REPOSITORY}/manifests/{manifest.headers['Docker-Content-Digest']}"
    assert client.get(by_digest).content == manifest.content
    for wrong in ("azure/my-aks/azurerm", "azure/aks/azurerm"):
        assert client.get(f"/v2/{wrong}/manifests/1.0.0").status_code == 404
        assert client.get(f"/v2/{wrong}/tags/list").status_code == 404
    assert client.get("/v2/Azure/My_AKS/azurerm/tags/list").json()["errors"][0]["code"] == "NAME_INVALID"


def test_a_push_adds_a_version_to_the_module_with_capitals(azure, put, tofu, alice, olga, work):
    put("Azure/My_AKS/azurerm")
    repo, archive = Repo(tofu(alice), REPOSITORY), module_zip(comment=b"1.1.0")
    raw = package(archive)
    repo.blob(b"{}")
    repo.blob(archive)

    assert repo.put(raw, "1.1.0").status_code == 503
    work()
    assert repo.put(raw, "1.1.0").status_code == 201

    assert [one["version"] for one in repo.client.get(f"{MODULE_PATH}/versions").json()["modules"][0]["versions"]] == [
        "1.1.0",
        "1.0.0",
    ]
    assert repo.get("1.1.0").content == raw
    assert repo.delete(f"sha256:{repo.head('1.1.0').headers['Docker-Content-Digest'][7:]}").status_code == 405
    assert repo.client.get("/v2/_catalog").json() == {"repositories": [REPOSITORY]}
    repo.push(attached(raw))
    assert not gc.unneeded_manifests(timezone.now() + timedelta(days=99)).exists(), "a release leads to both"
    page = repo.client.get("/modules/Azure/My_AKS/azurerm/1.1.0")
    assert f"oras pull {settings.PUBLIC_HOST}/{REPOSITORY}@" in page.content.decode()

    address = ModuleAddress.parse("Azure/My_AKS/azurerm")
    reason, confirm = "It has a key.", f"{address} 1.1.0"
    lifecycle.purge(viewer=Viewer(olga), address=address, version="1.1.0", reason=reason, confirm=confirm)
    assert not Manifest.objects.filter(digest=digest_of(raw)).exists()


def test_a_token_for_one_name_counts_over_oci_as_well(azure, put, bearer, alice, client):
    put("Azure/My_AKS/azurerm")
    for only_name, status in (("My_AKS/azurerm", 202), ("Other/azurerm", 403)):
        headers = bearer(alice, Scope.PUBLISH, only_name=only_name)
        answer = client.post(
            f"/v2/{REPOSITORY}/blobs/uploads/", content_type="application/octet-stream", headers=headers
        )
        assert answer.status_code == status, answer.content


def test_clients_fold_the_namespace_of_a_provider_so_its_folded_form_answers(client, db):
    """`My_Team/dns` in a configuration is `my-team/dns` on the wire at best: clients take no `_`, and no capitals."""
    team = Namespace.objects.create(name="My_Team", canonical="my-team", visibility=Visibility.PUBLIC)
    cast.add_version(cast.frozen_key(team), None, "dns", "1.2.0")
    settings_host = next(iter(settings.HOSTNAMES))

    listed = client.get("/v1/providers/my-team/dns/versions")
    assert [one["version"] for one in listed.json()["versions"]] == ["1.2.0"]
    assert client.get("/v1/providers/my-team/dns/1.2.0/download/linux/amd64").status_code == 200
    assert "1.2.0" in client.get(f"/v1/mirror/{settings_host}/my-team/dns/index.json").json()["versions"]
    assert client.get(f"/v1/mirror/{settings_host}/my-team/dns/1.2.0.json").json()["archives"]
    mirror = f"providers/{settings_host}/my-team/dns"
    assert client.get(f"/v2/{mirror}/tags/list").json()["tags"] == ["1.2.0"]
    page = client.get("/providers/My_Team/dns/1.2.0")
    assert f"{settings.PUBLIC_HOST}/my-team/dns" in html.unescape(page.content.decode())


def test_a_call_over_oci_leads_to_the_module_with_capitals(azure, put, client):
    put("Azure/My_AKS/azurerm")
    calls = (
        f'module "oci" {{\n  source = "oci://{settings.PUBLIC_HOST}/{REPOSITORY}?tag=1.0.0"\n}}\n'
        f'module "registry" {{\n  source = "{settings.PUBLIC_HOST}/Azure/My_AKS/azurerm"\n}}\n'
        f'module "wrong" {{\n  source = "{settings.PUBLIC_HOST}/azure/my_aks/azurerm"\n}}\n'
    )
    put("Azure/over/azurerm", data=module_zip({**MODULE, "calls.tf": calls}))
    put("Azure/only_oci/azurerm", data=module_zip({**MODULE, "calls.tf": calls.partition('module "registry"')[0]}))

    page = client.get("/modules/Azure/over/azurerm/1.0.0/dependencies").content.decode()
    assert page.count('href="/modules/Azure/My_AKS/azurerm"') == 2
    users = client.get("/modules/Azure/My_AKS/azurerm/usage").content.decode()
    assert "Azure/over/azurerm" in users
    assert "Azure/only_oci/azurerm" in users
