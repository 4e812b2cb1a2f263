"""/publish?match=…: the existing module that a file is for, and the version to propose."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.releases.lifecycle import verbs
from apps.releases.models import Release
from tests import pages
from tests.portal.rows import add_module, add_modules

pytestmark = pytest.mark.django_db


@pytest.fixture
def match(browser):
    def ask(name, system="", version=""):
        return browser.get("/publish", {"match": name, "system": system, "version": version}).json()

    return ask


def test_one_module_of_that_name_and_system_is_found_with_its_next_version(match, acme):
    add_module(acme, "vpc/aws", "1.2.0")
    add_module(acme, "vpc/google", "3.0.0")
    assert match("vpc", "aws") == {"modules": ["acme/vpc/aws"], "highest": "1.2.0", "version": "1.3.0"}


def test_an_unknown_system_is_every_one_or_the_end_of_the_name(match, acme):
    add_module(acme, "vpc/aws", "1.2.0")
    add_module(acme, "web_cluster/google", "1.0.0")
    assert match("VPC")["modules"] == ["acme/vpc/aws"]
    assert match("vpc-aws")["modules"] == ["acme/vpc/aws"]
    assert match("web-cluster-google")["modules"] == ["acme/web_cluster/google"]
    assert match("cluster-google")["modules"] == []


def test_the_version_of_the_file_is_proposed_unless_it_is_published(match, acme, pantry, alice):
    add_module(acme, "vpc/aws", "1.2.0", "2.3.0")
    assert match("vpc", "aws", "1.2.1")["version"] == "1.2.1"
    assert match("vpc", "aws", "1.2.0")["version"] == "2.4.0"
    verbs.yank(release=Release.objects.get(version="2.3.0"), actor=Viewer(alice), reason="a trial")
    assert match("vpc", "aws")["version"] == "2.4.0", "a yanked version counts as the highest"

    add_module(pantry, "vpc/aws", "1.0.0")
    assert match("vpc", "aws") == {"modules": ["acme/vpc/aws", "pantry/vpc/aws"]}, "of several none is proposed"


def test_nothing_is_chosen_before_the_publisher_chooses(browser, acme):
    add_module(acme, "vpc/aws", "1.2.0")
    page = browser.get("/publish").text
    assert '<option value="" selected>Choose a module</option>' in page
    form = {"module": "", "namespace": "acme", "name": "dns", "system": "aws", "version": "1.0.0"}
    answer = browser.post("/publish", form, headers={"Accept": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["errors"] == {"module": ["Choose the module, or “A new module”."]}


def test_it_costs_the_same_however_many_match(browser, acme):
    add_modules(acme, ["vpc/aws", "vpc/google"])
    before = pages.queries_of(browser, "/publish?match=vpc")
    add_module(acme, "vpc/local")
    assert pages.queries_of(browser, "/publish?match=vpc") == before <= 6
