"""/v1/modules/<namespace>/<name>/<system>, with a version, and its /download."""

import json

import pytest

from apps.modules import catalogue
from apps.releases.models import Lifecycle, Release
from tests.portal.rows import add_module
from tests.protocol import shelf

LATEST = "/v1/modules/acme/vpc/aws"


@pytest.fixture
def vpc(acme, pantry, hall):
    return shelf.fill(acme, pantry, hall)


@pytest.mark.parametrize(
    ("path", "name"), [(LATEST, "module-latest"), ("/v1/modules/pantry/label/null/1.0.0-beta.1", "module-details")]
)
def test_details_are_frozen(tofu, bob, vpc, golden, path, name):
    """Update bots parse these. Changing a byte needs a reason in the commit."""
    response = tofu(bob).get(path)

    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert response.content == golden(f"modules_v1/{name}.json")


def test_the_latest_is_never_yanked_nor_in_quarantine(tofu, bob, vpc):
    document = json.loads(tofu(bob).get(LATEST).content)

    assert document["version"] == "1.10.0"
    assert document["versions"] == ["1.2.0", "1.10.0", "2.0.0-rc.1"]


def test_the_latest_is_a_pre_release_where_there_is_nothing_else(tofu, bob, acme):
    add_module(acme, "young/aws", "0.1.0-alpha", "0.1.0-beta")

    assert json.loads(tofu(bob).get("/v1/modules/acme/young/aws").content)["version"] == "0.1.0-beta"


def test_yanking_the_last_version_leaves_no_latest(tofu, bob, acme):
    module = add_module(acme, "vpc/aws", "1.0.0")
    assert tofu(bob).get(LATEST).status_code == 200
    Release.objects.update(lifecycle=Lifecycle.YANKED)
    catalogue.refresh(module)

    paths = ("", "/download")
    assert [tofu(bob).get(LATEST + path).status_code for path in paths] == [404, 404]


@pytest.mark.parametrize(
    ("version", "status"),
    [("1.10.0", 200), ("1.10.0+again", 200), ("1.11.0", 200), ("1.9.0", 404), ("9.0.0", 404), ("v1.10.0", 404)],
    ids=["listed", "equal", "yanked", "quarantined", "missing", "odd"],
)
def test_an_exact_version_answers_unless_it_is_in_quarantine(tofu, bob, vpc, version, status):
    assert tofu(bob).get(f"{LATEST}/{version}").status_code == status


def test_download_leads_to_that_of_the_latest(tofu, bob, vpc):
    response = tofu(bob).get(f"{LATEST}/download")

    assert response.status_code == 302
    assert response.headers["Location"] == f"{LATEST}/1.10.0/download"
    assert response.headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize("end", ["", "/1.10.0", "/download"])
@pytest.mark.parametrize("path", ["acme/vpc/aws", "acme/nothing/aws", "nowhere/vpc/aws"])
def test_strangers_learn_nothing(tofu, charlie, vpc, golden, path, end):
    nobody, stranger = tofu().get(f"/v1/modules/{path}{end}"), tofu(charlie).get(f"/v1/modules/{path}{end}")

    assert (nobody.status_code, stranger.status_code) == (401, 404)
    assert nobody.content == golden("modules_v1/error-401.json")


@pytest.mark.parametrize("count", [2, 60])
@pytest.mark.parametrize("end", ["", "/1.0.0"])
def test_details_cost_the_same_at_any_length(tofu, bob, acme, django_assert_max_num_queries, count, end):
    add_module(acme, "vpc/aws", *[f"1.{number}.0" for number in range(count)], inspection=shelf.INSPECTION)
    client = tofu(bob)

    with django_assert_max_num_queries(6):
        assert client.get(f"{LATEST}{end}").status_code == 200
