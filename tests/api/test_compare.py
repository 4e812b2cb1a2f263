"""GET /api/v1/modules/…/compare/1.2.0...2.0.0: what differs between two versions."""

from tests.builders.archives import module_zip

URL = "/api/v1/modules/acme/vpc/aws/compare/{}"
BEFORE = {"main.tf": 'variable "name" {\n  type = string\n  default = "x"\n}\n', "old.tf": ""}
AFTER = {"main.tf": 'variable "name" {\n  type = string\n}\n', "outputs.tf": 'output "id" {\n  value = 1\n}\n'}


def test_it_names_each_change_and_whether_the_number_says_so(published, tofu, bob, django_assert_max_num_queries):
    published(version="1.2.0", data=module_zip(BEFORE))
    published(version="1.3.0", data=module_zip(AFTER))
    with django_assert_max_num_queries(10):
        said = tofu(bob).get(URL.format("1.2.0...1.3.0")).json()

    assert (said["from"], said["to"], said["severity"], said["step"]) == ("1.2.0", "1.3.0", "breaking", "minor")
    assert said["is_said"] is False
    assert [(one["kind"], one["name"], one["rule"]) for one in said["changes"]] == [
        ("input", "name", "input_made_required"),
        ("output", "id", "output_added"),
    ]
    assert said["changes"][0]["before"] == '"x"'
    assert tofu(bob).get(URL.format("1.3.0...1.2.0")).json()["step"] is None, "backwards"
    assert said["files"] == {"added": ["outputs.tf"], "removed": ["old.tf"], "changed": ["main.tf"]}
    for asked in ("1.2.0", "1.2.0...9.9.9", "...", "1.2.0...", "1.2.0..1.3.0"):
        assert tofu(bob).get(URL.format(asked)).status_code in (404, 422), asked
