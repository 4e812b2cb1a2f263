"""override.tf and *_override.tf are merged in last, argument by argument."""

from tests.modules.inspection.inspections import messages, unit_of


def test_arguments_replace_and_the_others_stay():
    unit = unit_of(
        'variable "x" {\n  type = number\n  default = 1\n  description = "D"\n}\n',
        a_override_tf='variable "x" {\n  default = 2\n}\n',
    )
    (found,) = unit.parts["variables"]
    assert (found["type"], found["value"], found["description"]) == ("number", 2, "D")
    assert (found["file"], found["line"]) == ("main.tf", 1)
    assert unit.diagnostics == []


def test_the_last_of_several_wins():
    unit = unit_of(
        'output "x" {\n  value = 1\n}\n',
        b_override_tf='output "x" {\n  description = "b"\n}\n',
        a_override_tf='output "x" {\n  description = "a"\n  sensitive = true\n}\n',
    )
    (found,) = unit.parts["outputs"]
    assert (found["description"], found["sensitive"]) == ("b", True)


def test_validations_stay_as_they_were_declared():
    unit = unit_of(
        'variable "x" {\n  validation {\n    condition = true\n    error_message = "One."\n  }\n}\n',
        override_tf='variable "x" {\n  validation {\n    condition = true\n    error_message = "Two."\n  }\n}\n',
    )
    assert unit.parts["variables"][0]["validations"] == ["One."]


def test_required_providers_are_replaced_entry_by_entry():
    requires = "terraform {\n  required_providers {\n    %s\n  }\n}\n"
    unit = unit_of(
        requires % 'a = { source = "x/a", version = "1" }\n    b = { source = "x/b", version = "1" }',
        override_tf=requires % 'b = { source = "y/b" }\n    c = "3"',
    )
    listed = [(entry["name"], entry["source"], entry["version"]) for entry in unit.parts["providers"]]
    assert listed == [("a", "x/a", "1"), ("b", "y/b", ""), ("c", "", "3")]


def test_a_required_version_takes_the_place_of_all_others():
    requires = 'terraform {\n  required_version = "%s"\n}\n'
    unit = unit_of(requires % ">= 1", more_tf=requires % "< 2", override_tf=requires % "~> 1.8")
    assert [entry["text"] for entry in unit.parts["required_version"]] == ["~> 1.8"]


def test_calls_and_resources_are_merged():
    unit = unit_of(
        'module "m" {\n  source = "a"\n  version = "1"\n}\nresource "aws_x" "y" {}\n',
        override_tofu='module "m" {\n  source = "b"\n}\nresource "aws_x" "y" {\n  provider = other.one\n}\n',
    )
    assert [(entry["source"], entry["version"]) for entry in unit.parts["calls"]] == [("b", "1")]
    assert [entry["provider"] for entry in unit.parts["resources"]] == ["other"]


def test_the_version_of_a_provider_is_replaced_for_the_same_alias():
    unit = unit_of(
        'provider "a" {\n  version = "1"\n}\nprovider "a" {\n  alias = "z"\n  version = "2"\n}\n',
        override_tf='provider "a" {\n  alias = "z"\n  version = "3"\n}\n',
    )
    assert unit.parts["providers"][0]["version"] == "1, 3"


def test_the_two_syntaxes_override_each_other():
    unit = unit_of('variable "x" {\n  default = 1\n}\n', override_tf_json='{"variable": {"x": {"default": 2}}}')
    assert unit.parts["variables"][0]["value"] == 2


def test_an_override_of_what_is_not_there_costs_a_warning():
    unit = unit_of("", main_tf="locals {}\n", override_tf='variable "x" {}\n')
    assert unit.parts["variables"] == []
    assert messages(unit) == ["there is no variable x to override"]


def test_a_file_that_only_sounds_like_one_is_none():
    assert unit_of("", myoverride_tf='variable "x" {}\n').parts["variables"]
