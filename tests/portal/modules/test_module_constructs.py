"""The constructs of the last client releases on the pages of a module."""

import re

import pytest

from apps.jobs.models import Job
from apps.modules import reinspection
from apps.modules.models import ModuleVersion
from apps.modules.tasks import inspect_module
from tests.builders import constructs
from tests.builders.archives import module_zip

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


def test_each_construct_has_its_place_on_the_pages(page):
    first, inputs, resources = page(AT), page(f"{AT}/inputs"), page(f"{AT}/resources")
    tasks, calls = page(f"{AT}/submodules/tasks"), page(f"{AT}/dependencies")

    assert "Requires OpenTofu &gt;= 1.12" in first
    assert "Terraform &gt;= 1.7" in first
    assert "OpenTofu &gt;= 1.12 , Terraform &gt;= 1.7" in page("/modules/acme/all/null/versions")
    assert "flavour Constant" in inputs
    assert "names Constant" not in inputs
    assert "terraform_data box for_each terraform main.tf" in resources
    assert "State changes 3" in resources
    assert "terraform_data.crate Moved to terraform_data.box[&quot;a&quot;]" in resources
    assert "terraform_data.attic Forgotten: no longer managed, not destroyed" in resources
    assert "terraform_data.cellar Destroyed" in resources
    for expected in (
        "Output Type Description Where",
        "object({ name = string, ports = list(number) })",
        "terraform_data.shed Destroyed by Terraform, forgotten by OpenTofu",
        "terraform_data.kept[&quot;a&quot;] Imported: an existing object becomes managed",
        "backend &quot;s3&quot; State migrated from here",
        "Actions 2",
        "aws_lambda_invoke warm aws",
        "Queries 1",
        "aws_instance old aws",
        "Providers 2",
        "shell not set any",
    ):
        assert expected in tasks
    assert "Output Description Where" in page(f"{AT}/outputs")  # no column of nothing
    assert "flavoured ./modules/${var.flavour} Computed" in calls
    assert "parts for_each ./modules/plain part of this module" in calls
    assert first.count("Computed") == 0


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
