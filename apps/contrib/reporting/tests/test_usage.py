"""POST /api/v1/usage: pipelines report which versions a configuration has installed"""

import json
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.models import Namespace, Scope, Visibility
from apps.contrib.reporting import receiving
from apps.modules import tasks
from apps.modules.models import Configuration, ModuleVersion
from apps.releases.models import Lifecycle, Release
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module
from tests.rows import for_each_row

URL = "/api/v1/usage"
DIGEST = "sha256:" + "5" * 64
LOCK = """# This file is maintained automatically by "tofu init".

provider "here.example/acme/dns" {
  version     = "1.0.0"
  constraints = "~> 1.0"
  hashes = [
    "h1:abc=",
  ]
}

provider "registry.opentofu.org/hashicorp/null" {
  version = "3.2.4"
}
"""


@pytest.fixture(autouse=True)
def host(settings):
    settings.PUBLIC_HOST = "here.example"


@pytest.fixture
def offered(acme):
    add_module(acme, "vpc/aws", "1.0.0", "2.0.0")
    add_module(acme, "label/aws", "0.1.0")
    provider_version(acme, "dns", "1.0.0", key=row_of_key(acme, 1))
    ModuleVersion.objects.filter(release__version="2.0.0").update(manifest_digest=DIGEST)


def installed(*entries: tuple[str, str]) -> dict:
    root = {"Key": "", "Source": "", "Dir": "."}
    named = [{"Key": f"m{at}", "Source": source, "Version": number} for at, (source, number) in enumerate(entries)]
    return {"Modules": [root, *named]}


VPC = installed(("here.example/acme/vpc/aws", "1.0.0"))


@pytest.fixture
def report(client, bearer, bob):
    def send(user=bob, scope=Scope.READ, **fields):
        body = json.dumps({"repository": "team/infra", **fields})
        return client.post(URL, body, content_type="application/json", headers=bearer(user, scope))

    return send


def versions_in(response) -> list[tuple[str, str]]:
    assert response.status_code == 200, response.content
    return [(one["address"], one["version"]) for one in response.json()["versions"]]


def test_a_read_token_reports_modules_and_providers(offered, report, bob):
    response = report(folder="./live/", modules=VPC, lock=LOCK)

    assert response.json() == {
        "versions": [
            {"kind": "module", "address": "acme/vpc/aws", "version": "1.0.0", "lifecycle": "maintained"},
            {"kind": "provider", "address": "acme/dns", "version": "1.0.0", "lifecycle": "maintained"},
        ]
    }
    row = Configuration.objects.get()
    assert (str(row), row.reporter) == ("team/infra//live", bob)
    assert sorted(row.uses.values_list("constraint", flat=True)) == ["", "~> 1.0"]


def test_curl_sends_the_files_as_they_are_and_a_bad_form_is_named(offered, client, bearer, bob):
    form = {
        "repository": "https://ci:secret@git.example.com/team/infra?token=secret",
        "modules": SimpleUploadedFile("modules.json", json.dumps(VPC).encode()),
        "lock": SimpleUploadedFile(".terraform.lock.hcl", LOCK.replace("\n", "\r\n").encode()),
    }

    response = client.post(URL, form, headers=bearer(bob, Scope.READ))

    assert versions_in(response) == [("acme/vpc/aws", "1.0.0"), ("acme/dns", "1.0.0")]
    assert str(Configuration.objects.get()) == "https://git.example.com/team/infra"
    cut = b'--x\r\nContent-Disposition: form-data; name="modules"\r\n\r\n{\r\n--x--\r\n'
    for data in (b"", b"--x\r\n", cut):
        form = {"data": data, "content_type": "multipart/form-data; boundary=x"}
        refused = client.generic("POST", URL, **form, headers=bearer(bob, Scope.READ))
        assert refused.status_code in (400, 422)
        assert refused.json()["error"]["message"]


@for_each_row(
    ("source", "number", "gets"),
    [
        ("here.example/acme/vpc/aws//modules/inner", "1.0.0", "1.0.0"),
        ("oci://here.example/acme/vpc/aws?tag=2.0.0", "", "2.0.0"),
        (f"oci://here.example/acme/vpc/aws?digest={DIGEST}", "", "2.0.0"),
        ("oci://here.example/acme/vpc/aws", "", None),
        ("here.example/acme/vpc/aws", "9.9.9", None),
        ("here.example/acme/vpc/aws", "latest", None),
        ("elsewhere.example/acme/vpc/aws", "1.0.0", None),
        ("git::https://here.example/acme/vpc/aws", "", None),
        ("./modules/inner", "", None),
    ],
)
def test_only_versions_of_this_registry_count(offered, report, source, number, gets):
    found = versions_in(report(modules=installed((source, number))))

    assert found == ([("acme/vpc/aws", gets)] if gets else [])


def test_what_is_hidden_is_ignored_as_what_is_missing(offered, report):
    vault = Namespace.objects.create(name="vault", canonical="vault", visibility=Visibility.PRIVATE)
    add_module(vault, "safe/aws", "1.0.0")
    Release.objects.filter(version="2.0.0").update(quarantined_at=timezone.now())
    hidden, missing, blocked = (
        report(modules=installed((f"here.example/{name}", number)))
        for name, number in (("vault/safe/aws", "1.0.0"), ("vault/none/aws", "1.0.0"), ("acme/vpc/aws", "2.0.0"))
    )

    assert hidden.json() == missing.json() == blocked.json() == {"versions": []}
    assert not Configuration.objects.exists()


@pytest.mark.both
def test_a_later_report_replaces_the_former_of_the_same_account_alone(offered, report, alice, bob):
    Release.objects.filter(version="1.0.0", kind="module").update(lifecycle=Lifecycle.DEPRECATED)
    assert report(modules=VPC, folder="live").json()["versions"][0]["lifecycle"] == "deprecated"
    report(modules=VPC, folder="test")
    report(modules=VPC, folder="live", user=alice)
    report(modules=installed(("here.example/acme/vpc/aws", "2.0.0")), folder="/live")

    def reported(user):
        rows = Configuration.objects.filter(reporter=user).order_by("folder")
        return [(row.folder, [use.release.version for use in row.uses.all()]) for row in rows]

    assert reported(bob) == [("live", ["2.0.0"]), ("test", ["1.0.0"])]
    assert reported(alice) == [("live", ["1.0.0"])]
    report(modules=installed(), folder="live")
    assert reported(bob) == [("test", ["1.0.0"])]


def test_a_report_that_repeats_the_last_writes_its_time_alone(offered, report):
    report(modules=VPC, lock=LOCK)
    before = list(Configuration.objects.get().uses.values_list("pk", flat=True))
    with CaptureQueriesContext(connection) as at_once:
        assert len(versions_in(report(modules=VPC, lock=LOCK))) == 2
    earlier = timezone.now() - timedelta(minutes=5)
    Configuration.objects.update(reported_at=earlier)
    with CaptureQueriesContext(connection) as later:
        assert len(versions_in(report(modules=VPC, lock=LOCK))) == 2

    def written(queries):
        starts = [one["sql"].replace("INTO ", "").replace("FROM ", "").split()[:2] for one in queries]
        return [start for start in starts if start[0] != "SELECT" and "modules_configuration" in start[-1]]

    assert written(at_once) == []
    assert written(later) == [["UPDATE", '"modules_configuration"']]
    row = Configuration.objects.get()
    assert row.reported_at > earlier
    assert list(row.uses.values_list("pk", flat=True)) == before


@pytest.mark.both
@for_each_row(
    ("fields", "status", "says"),
    [
        ({"modules": []}, 422, "modules.json"),
        ({"modules": {"Modules": [1]}}, 422, "modules.json"),
        ({"lock": "resource {}"}, 422, ".terraform.lock.hcl"),
        ({"repository": " "}, 422, "repository"),
        ({"repository": "a\nb"}, 422, "repository"),
        ({"repository": "http://[x"}, 422, "repository"),
        ({"folder": "../x"}, 422, "folder"),
        ({"folder": "x" * 301}, 422, "folder"),
        ({"file": "x"}, 422, "no field"),
    ],
)
def test_bad_input_is_named(offered, report, fields, status, says):
    response = report(**fields)

    assert response.status_code == status
    error = response.json()["error"]
    assert says in f"{error['message']} {error['hint']}"


def test_reports_are_bounded(offered, report, settings, monkeypatch):
    monkeypatch.setattr(receiving, "MAX_CONFIGURATIONS", 1)
    monkeypatch.setattr(receiving, "MAX_INSTALLED", 1)

    assert report(modules=VPC).status_code == 200
    assert report(modules=VPC).status_code == 200, "the same one again"
    assert report(modules=VPC, folder="more").status_code == 409
    assert report(modules=VPC, lock=LOCK).status_code == 422
    settings.JSON_MAX_BYTES = 1024
    assert report(lock="#" * 2000).status_code == 413


def test_many_versions_cost_as_much_as_few(acme, report):
    costs = []
    for number in range(20):
        add_module(acme, f"m{number}/aws", "1.0.0")
    for count in (2, 20):
        named = installed(*((f"here.example/acme/m{number}/aws", "1.0.0") for number in range(count)))
        with CaptureQueriesContext(connection) as queries:
            assert len(versions_in(report(modules=named, folder=str(count)))) == count
        costs.append(len(queries))

    assert costs[1] <= costs[0] <= 20


@pytest.mark.both
def test_old_reports_are_deleted(offered, report):
    report(modules=VPC)
    report(modules=VPC, folder="old")
    Configuration.objects.filter(folder="old").update(reported_at=timezone.now() - timedelta(days=91))

    tasks.prune_configurations()

    assert [row.folder for row in Configuration.objects.all()] == [""]
