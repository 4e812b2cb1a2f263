"""GET /api/v1/modules/…/compare/1.2.0...2.0.0: what differs between two versions."""

import pytest

from tests.builders.archives import module_zip

URL = "/api/v1/modules/acme/vpc/aws/compare/{}"
BEFORE = {"main.tf": 'variable "name" {\n  type = string\n  default = "x"\n}\n', "old.tf": ""}
AFTER = {"main.tf": 'variable "name" {\n  type = string\n}\n', "outputs.tf": 'output "id" {\n  value = 1\n}\n'}


@pytest.fixture
def two(published):
    published(version="1.2.0", data=module_zip(BEFORE))
    published(version="1.3.0", data=module_zip(AFTER))


def test_it_names_each_change_and_whether_the_number_says_so(two, tofu, bob, django_assert_max_num_queries):
    with django_assert_max_num_queries(10):
        said = tofu(bob).get(URL.format("1.2.0...1.3.0")).json()

    assert (said["from"], said["to"], said["severity"], said["step"]) == ("1.2.0", "1.3.0", "breaking", "minor")
    assert said["is_said"] is False
    assert [(one["kind"], one["name"], one["rule"]) for one in said["changes"]] == [
        ("input", "name", "input_made_required"),
        ("output", "id", "output_added"),
    ]
    assert said["changes"][0]["before"] == '"x"'
    assert said["files"] == {"added": ["outputs.tf"], "removed": ["old.tf"], "changed": ["main.tf"]}


def test_backwards_has_no_step_and_equal_ones_no_changes(two, tofu, bob):
    backwards = tofu(bob).get(URL.format("1.3.0...1.2.0")).json()
    equal = tofu(bob).get(URL.format("1.2.0...1.2.0")).json()

    assert backwards["step"] is None
    assert {one["rule"] for one in backwards["changes"]} == {"input_made_optional", "output_removed"}
    assert (equal["severity"], equal["changes"], equal["is_said"]) == ("compatible", [], True)


def test_what_names_no_two_versions_is_not_found_or_no_version(two, tofu, bob):
    for asked in ("1.2.0", "1.2.0...9.9.9", "...", "1.2.0...", "1.2.0..1.3.0"):
        assert tofu(bob).get(URL.format(asked)).status_code in (404, 422), asked
