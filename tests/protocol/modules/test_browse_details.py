"""/v1/modules/<namespace>/<name>/<system>, with a version, and its /download."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.modules.catalogue import entries
from apps.modules.models import ModuleVersion
from apps.releases.models import Lifecycle, Release
from tests.builders.archives import module_zip
from tests.portal.rows import add_module
from tests.protocol import catalogue
from tests.rows import for_each_row

LATEST = "/v1/modules/acme/vpc/aws"


@pytest.fixture
def vpc(acme, pantry, hall):
    return catalogue.fill(acme, pantry, hall)


@for_each_row(
    ("path", "name"), [(LATEST, "module-latest"), ("/v1/modules/pantry/label/null/1.0.0-beta.1", "module-details")]
)
def test_details_are_frozen(tofu, bob, vpc, golden, path, name):
    """Update bots parse these. Changing a byte needs a reason in the commit."""
    response = tofu(bob).get(path)

    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert response.content == golden(f"modules_v1/{name}.json")


def test_the_latest_is_never_yanked_nor_in_quarantine_and_download_leads_to_its_own(tofu, bob, vpc):
    document = json.loads(tofu(bob).get(LATEST).content)
    download = tofu(bob).get(f"{LATEST}/download")

    assert document["version"] == "1.10.0"
    assert document["versions"] == ["1.2.0", "1.10.0", "2.0.0-rc.1"]
    assert (download.status_code, download.headers["Location"]) == (302, f"{LATEST}/1.10.0/download")
    assert download.headers["Cache-Control"] == "private, no-cache"


def test_the_latest_is_a_pre_release_where_there_is_nothing_else(tofu, bob, acme):
    add_module(acme, "young/aws", "0.1.0-alpha", "0.1.0-beta")

    assert json.loads(tofu(bob).get("/v1/modules/acme/young/aws").content)["version"] == "0.1.0-beta"


def test_yanking_the_last_version_leaves_no_latest(tofu, bob, acme):
    module = add_module(acme, "vpc/aws", "1.0.0")
    assert tofu(bob).get(LATEST).status_code == 200
    Release.objects.update(lifecycle=Lifecycle.YANKED)
    entries.refresh(module)

    paths = ("", "/download")
    assert [tofu(bob).get(LATEST + path).status_code for path in paths] == [404, 404]


@for_each_row(
    ("version", "status"),
    [("1.10.0", 200), ("1.10.0+again", 200), ("1.11.0", 200), ("1.9.0", 404), ("9.0.0", 404), ("v1.10.0", 404)],
    ids=["listed", "equal", "yanked", "quarantined", "missing", "odd"],
)
def test_an_exact_version_answers_unless_it_is_in_quarantine(tofu, bob, vpc, version, status):
    assert tofu(bob).get(f"{LATEST}/{version}").status_code == status


@for_each_row("count", [2, 12])
@for_each_row("end", ["", "/1.0.0"])
def test_details_cost_the_same_at_any_length(tofu, bob, acme, django_assert_max_num_queries, count, end):
    add_module(acme, "vpc/aws", *[f"1.{number}.0" for number in range(count)], inspection=catalogue.INSPECTION)
    client = tofu(bob)

    with django_assert_max_num_queries(6):
        assert client.get(f"{LATEST}{end}").status_code == 200


def test_a_version_of_an_older_larder_has_its_readmes_as_html(tofu, bob, vpc):
    ModuleVersion.objects.update(readmes=None)

    document = json.loads(tofu(bob).get(LATEST).content)

    assert document["root"]["readme"] == "<h1>VPC</h1>"
    assert document["submodules"][0]["readme"] == "<p>Cuts it.</p>"


def test_what_is_published_has_its_readmes_as_they_are_written_and_its_constants_as_json(tofu, bob, published):
    readme = "\ufeff# VPC\r\n\n| a |\n|---|\n| <b>x</b>\0 |\n"
    files = {
        "README.md": readme,
        "main.tf": 'variable "a" {\n  default = {\n    b = [1, true, null, 1.5]\n    "c" = "ü\\"${""}"\n  }\n}\n'
        'variable "d" {\n  default = ["${path.module}"]\n}\nvariable "e" {\n  default = {\n    f = "x\\n"\n  }\n}\n',
        "modules/one/main.tf": "",
        "modules/one/README.md": "# One\n",
        "modules/one/deep/main.tf": "",
        "modules/one/deep/readme.md": "*deep*",
        "examples/two/main.tf": "",
        "wrappers/main.tf": "",
        "community/modules/three/main.tf": "",
    }
    published("acme/vpc/aws", "1.0.0", data=module_zip(files))

    document = json.loads(tofu(bob).get(f"{LATEST}/1.0.0").content)

    assert document["root"]["readme"] == readme.removeprefix("\ufeff").replace("\0", "\ufffd")
    assert [(one["path"], one["readme"]) for one in document["submodules"]] == [
        ("modules/one", "# One\n"),
        ("modules/one/deep", "*deep*"),
        # All that configurations can call, as the page lists them.
        ("community/modules/three", ""),
        ("wrappers", ""),
    ]
    assert [(one["path"], one["readme"]) for one in document["examples"]] == [("examples/two", "")]
    assert {one["name"]: one["default"] for one in document["root"]["inputs"]} == {
        "a": '{\n  b = [1, true, null, 1.5]\n  "c" = "ü\\"${""}"\n}',
        "d": '["${path.module}"]',
        "e": '{"f":"x\\n"}',
    }


def test_pages_do_not_load_the_markdown(browser_of, bob, vpc):
    with CaptureQueriesContext(connection) as asked:
        assert browser_of(bob).get("/modules/acme/vpc/aws/1.10.0/inputs").status_code == 200
        assert browser_of(bob).get("/modules/acme/vpc/aws").status_code == 200

    assert [query["sql"] for query in asked if '"readmes"' in query["sql"]] == []
