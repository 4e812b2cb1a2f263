"""The constructs of the last client releases on the pages of a module."""

import re

import pytest

from apps.jobs.models import Job
from apps.modules import reinspection
from apps.modules.models import ModuleVersion
from apps.modules.tasks import inspect_module
from tests.builders import constructs
from tests.builders.archives import module_zip

pytestmark = pytest.mark.both

AT = "/modules/acme/all/null/1.0.0"


@pytest.fixture
def page(published, browser_of, bob):
    published("acme/all/null", "1.0.0", data=module_zip(constructs.HCL))
    browser = browser_of(bob)

    def words(path):
        response = browser.get(path)
        assert response.status_code == 200, path
        return " ".join(re.sub(r"<[^>]*>", " ", response.content.decode()).split())

    return words


def test_the_constraint_of_each_client_is_a_requirement(page):
    said = page(AT)

    assert "Needs OpenTofu &gt;= 1.12" in said
    assert "Needs Terraform &gt;= 1.7" in said
    assert "OpenTofu &gt;= 1.12 , Terraform &gt;= 1.7" in page("/modules/acme/all/null/versions")


def test_a_constant_input_and_the_type_of_an_output_are_called_that(page):
    assert "flavour Constant" in page(f"{AT}/inputs")
    assert "names Constant" not in page(f"{AT}/inputs")
    tasks = page(f"{AT}/submodules/tasks")
    assert "Output Type Description Where" in tasks
    assert "object({ name = string, ports = list(number) })" in tasks
    assert "Output Description Where" in page(f"{AT}/outputs")  # no column of nothing


def test_what_changes_state_is_listed_below_the_resources(page):
    said = page(f"{AT}/resources")

    assert "terraform_data box for_each terraform main.tf" in said
    assert "State changes 3" in said
    assert "terraform_data.crate Moved to terraform_data.box[&quot;a&quot;]" in said
    assert "terraform_data.attic Forgotten: no longer managed, not destroyed" in said
    assert "terraform_data.cellar Destroyed" in said
    tasks = page(f"{AT}/submodules/tasks")
    assert "terraform_data.shed Destroyed by Terraform, forgotten by OpenTofu" in tasks
    assert "terraform_data.kept[&quot;a&quot;] Imported: an existing object becomes managed" in tasks
    assert "backend &quot;s3&quot; State migrated from here" in tasks


def test_actions_queries_and_the_providers_of_actions_are_listed(page):
    said = page(f"{AT}/submodules/tasks")

    assert "Actions 2" in said
    assert "aws_lambda_invoke warm aws" in said
    assert "Queries 1" in said
    assert "aws_instance old aws" in said
    assert "Providers 2" in said
    assert "shell not set any" in said


def test_a_computed_source_is_called_that_and_has_no_quotes(page):
    said = page(f"{AT}/dependencies")

    assert "flavoured ./modules/${var.flavour} Computed" in said
    assert "parts for_each ./modules/plain part of this module" in said
    assert page(AT).count("Computed") == 0


def test_a_version_that_an_older_larder_has_read_gets_them_by_reinspection(page):
    version = ModuleVersion.objects.get()
    for unit in version.inspection["units"]:
        for part in ("compatible_with", "moved", "removed", "imports", "actions", "queries", "migrations"):
            unit.pop(part, None)
    version.inspector = "7"
    version.save()
    assert "Forgotten" not in page(f"{AT}/resources")

    assert reinspection.request(reinspection.outdated(), actor_id=None) == 1
    inspect_module(job_id=Job.objects.get(kind=reinspection.JOB).pk)
    assert "Forgotten" in page(f"{AT}/resources")
    assert "aws_lambda_invoke warm" in page(f"{AT}/submodules/tasks")


def test_long_lists_name_what_is_left_out(published, browser_of, bob):
    moved = "".join(f"moved {{\n  from = a_b.c{number}\n  to = a_b.d{number}\n}}\n" for number in range(210))
    published("acme/all/null", "1.0.0", data=module_zip({"main.tf": moved}))
    said = browser_of(bob).get(f"{AT}/resources").content.decode()

    assert said.count("Moved to") == 200
    assert "The first 200 of 210." in said
