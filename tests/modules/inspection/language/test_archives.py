"""Findings about several folders of an archive, as clients say them on loading: circles of calls, and providers."""

import os
import subprocess

import pytest

from apps.modules.inspection.loading import faults_in, question
from apps.modules.inspection.units import read_module
from tests.modules.inspection.language.archives import ACME, INSTANCES, LOADED, MANY, NOTHING, REFUSED, USED, both, call
from tests.needs import CLIENTS
from tests.rows import for_each_row


def read(files):
    return read_module({path: text.encode() for path, text in files.items()}, {})


@for_each_row(("said", "files"), REFUSED.values(), ids=REFUSED)
def test_a_call_that_no_client_loads_is_a_fault_at_its_place(said, files):
    faults = [one for path in read(files)["faults"].values() for one in path]
    assert len(faults) == 1
    assert said in faults[0]["message"]
    assert files[faults[0]["file"]].splitlines()[faults[0]["line"] - 1].startswith(("module", "{"))


@for_each_row(("said", "files"), INSTANCES.values(), ids=INSTANCES)
def test_instances_of_providers_that_no_client_has_are_faults(said, files):
    faults = [one["message"] for path in read(files)["faults"].values() for one in path]
    assert [said in one for one in faults].count(True) == 1


def test_an_instance_of_a_provider_needs_opentofu():
    found = read({"main.tf": MANY + USED.replace("m.x", "m.x[each.key]")})
    assert (found["faults"], [one["text"] for one in found["units"][0]["requires"]]) == ({}, ["OpenTofu"])


@for_each_row("files", LOADED.values(), ids=LOADED)
def test_a_call_that_clients_load_is_not_questioned(files):
    found = read(files)
    assert found["faults"] == {}
    assert [unit for unit in found["units"] if "requires" in unit] == []


def test_a_circle_is_asked_about_if_a_folder_that_is_offered_leads_into_it():
    circle = {"b/main.tf": call("../c"), "c/main.tf": call("../b"), "examples/x/main.tf": call("../../b")}
    beside, called = circle | {"main.tf": NOTHING}, circle | {"modules/a/main.tf": call("../../b")}
    assert question(faults_in(read(beside), beside)) is None
    asked = question(faults_in(read(called), called))
    assert asked is not None
    assert "circle" in asked.found


def test_a_call_that_only_one_client_refuses_is_a_requirement_or_a_fault_with_another_ones():
    """OpenTofu has `enabled`, and refuses it for a module with a configuration of a provider."""
    enabled = 'module "a" {\n  source = "./a"\n  lifecycle {\n    enabled = true\n  }\n}\n'
    configured = 'provider "aws" {\n  region = "x"\n}\n'
    found = read(both(enabled, configured))
    assert ["found enabled" in one["message"] for one in found["faults"][""]] == [True]
    assert [one["text"] for one in read(both(enabled, NOTHING))["units"][0]["requires"]] == ["OpenTofu"]
    elsewhere = ACME.replace("acme/dns", "registry.terraform.io/hashicorp/dns")
    found = read(both(call(providers="{ dns = dns }"), elsewhere))
    assert (found["faults"], [one["text"] for one in found["units"][0]["requires"]]) == ({}, ["Terraform"])


def test_a_module_needs_the_clients_of_those_that_it_calls():
    """It is like a module that no client loads, if no client is left."""
    typed = 'output "x" {\n  value = 1\n  type  = number\n}\n'
    enabled = 'resource "a_b" "c" {\n  lifecycle {\n    enabled = true\n  }\n}\n'
    found = read(both(call(), call("../b"), b=typed))
    assert [[one["text"] for one in unit["requires"]] for unit in found["units"]] == [["Terraform 1.15"]] * 3
    assert found["units"][0]["requires"][0]["why"] == 'module "a": ./a needs Terraform 1.15'
    assert found["faults"] == {}
    imported = 'import {\n  to = a_b.c\n  id = "x"\n}\nresource "a_b" "c" {}\n'
    assert [one["text"] for one in read(both(call(), imported))["units"][0]["requires"]] == ["Terraform 1.16"]
    for other in (typed, imported):
        faults = read(both(call() + call("./b", "b"), enabled, b=other))["faults"]
        assert [one["message"].partition(" needs ")[0] for one in faults[""]] == ['module "a": ./a', 'module "b": ./b']


def test_what_only_some_clients_refuse_of_a_call_is_added_to_what_others_refuse_of_the_called_module():
    """OpenTofu has `enabled`, and takes this provider for another one."""
    enabled = 'resource "a_b" "c" {\n  lifecycle {\n    enabled = true\n  }\n}\n'
    typed = 'output "x" {\n  value = 1\n  type  = number\n}\n'
    elsewhere = ACME.replace("acme/dns", "registry.terraform.io/hashicorp/dns")
    files = both(call(providers="{ dns = dns }"), elsewhere + enabled)
    said = [one["message"] for one in read(files)["faults"][""]]
    assert ("passes dns as dns" in said[0], said[1]) == (True, 'module "a": ./a needs OpenTofu')
    files = both(call("./b", "b"), elsewhere + typed, b=call("../a", providers="{ dns = dns }"))
    needed = {unit["path"]: [one["text"] for one in unit["requires"]] for unit in read(files)["units"]}
    assert needed == {"": ["Terraform 1.15"], "a": ["Terraform 1.15"], "b": ["Terraform", "Terraform 1.15"]}


def test_imports_of_an_example_do_not_count_since_nothing_calls_it():
    imported = 'import {\n  to = a_b.c\n  id = "x"\n}\nresource "a_b" "c" {}\n'
    elsewhere = ACME.replace("acme/dns", "registry.opentofu.org/hashicorp/dns")
    passed = call("../../b", providers="{ dns = dns }")
    found = read({"examples/a/main.tf": imported + passed, "b/main.tf": elsewhere, "main.tf": NOTHING})
    needed = {unit["path"]: [one["text"] for one in unit.get("requires", ())] for unit in found["units"]}
    assert (found["faults"], needed) == ({}, {"": [], "b": [], "examples/a": ["OpenTofu"]})


def test_what_is_not_known_is_not_judged():
    """Files that only some clients read, overrides, computed sources and folders beyond the archive."""
    needs = REFUSED["an alias that is not passed"][1]
    for more in ({"a/b.tofu": ""}, {"override.tf": ""}, {"a/broken.tf": 'variable "x" {'}):
        assert "" not in read(needs | more)["faults"]
    assert read({"main.tf": 'variable "x" {\n  default = "./"\n}\n' + call("${var.x}")})["faults"] == {}


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_an_installed_client_says_the_same_of_each_archive(client, tmp_path):
    alone = os.environ | {"HOME": str(tmp_path), "CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull}
    refused = REFUSED | INSTANCES
    rows = [*((name, files, True) for name, (_, files) in refused.items()), *((*one, False) for one in LOADED.items())]
    for name, files, is_refused in rows:
        folder = tmp_path / name
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        done = [
            subprocess.run([client, command], cwd=folder, env=alone, capture_output=True, check=False)
            for command in ("get", "providers")
        ]
        assert any(one.returncode for one in done) == is_refused, (name, done)
