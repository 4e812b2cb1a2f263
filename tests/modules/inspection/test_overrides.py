"""override.tf and *_override.tf are merged in last, argument by argument."""

from tests.modules.inspection.inspections import messages, unit_of

VALIDATED = 'variable "x" {\n%s  validation {\n    condition = true\n    error_message = "%s"\n  }\n}\n'


def test_arguments_replace_and_the_others_stay_and_validations_are_never_overridden():
    unit = unit_of(
        VALIDATED % ('  type = number\n  default = 1\n  description = "D"\n', "One."),
        a_override_tf=VALIDATED % ("  default = 2\n", "Two."),
    )
    (found,) = unit.parts["variables"]
    assert (found["type"], found["value"], found["description"]) == ("number", 2, "D")
    assert (found["file"], found["line"], found["validations"]) == ("main.tf", 1, ["One."])
    assert unit.diagnostics == []


def test_the_last_of_several_wins_in_either_syntax_and_myoverride_is_none():
    unit = unit_of(
        'output "x" {\n  value = 1\n}\n',
        b_override_tf_json='{"output": {"x": {"description": "b"}}}',
        a_override_tf='output "x" {\n  description = "a"\n  sensitive = true\n}\n',
        myoverride_tf='variable "y" {}\n',
    )
    (found,) = unit.parts["outputs"]
    assert (found["description"], found["sensitive"]) == ("b", True)
    assert [entry["name"] for entry in unit.parts["variables"]] == ["y"]


def test_required_providers_are_replaced_entry_by_entry_and_a_required_version_replaces_all_others():
    requires = 'terraform {\n  required_version = "%s"\n  required_providers {\n    %s\n  }\n}\n'
    unit = unit_of(
        requires % (">= 1", 'a = { source = "x/a", version = "1" }\n    b = { source = "x/b", version = "1" }'),
        more_tf=requires % ("< 2", ""),
        override_tf=requires % ("~> 1.8", 'b = { source = "y/b" }\n    c = "3"'),
    )
    listed = [(entry["name"], entry["source"], entry["version"]) for entry in unit.parts["providers"]]
    assert listed == [("a", "x/a", "1"), ("b", "y/b", ""), ("c", "", "3")]
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


def test_an_override_of_what_is_not_there_costs_a_warning():
    unit = unit_of("", main_tf="locals {}\n", override_tf='variable "x" {}\n')
    assert unit.parts["variables"] == []
    assert messages(unit) == ["there is no variable x to override"]
