"""The tools of /mcp: each reads through the gate, and says what is deprecated or yanked."""

import json

import pytest

from apps.accounts.access.gate import Viewer
from apps.contrib.assistants import sizes
from apps.contrib.assistants.tests.conftest import send
from apps.lib.addresses import ModuleAddress
from apps.modules.lifecycle import ACTIONS
from apps.modules.models import Module
from apps.providers.catalogue import refresh
from tests.builders.archives import MODULE, module_zip
from tests.builders.keys import signing_key
from tests.modules.dependents.rows import calls, reported
from tests.protocol.providers import cast

PARTS = {
    **MODULE,
    "modules/subnet/main.tf": 'variable "cidr" {\n  type = string\n}\n',
    "examples/simple/main.tf": 'module "vpc" {\n  source = "../.."\n  name   = "x"\n}\n',
}
VPC = "acme/vpc/aws"


@pytest.fixture
def three(published, dora):
    """1.1.0 is maintained, 1.2.0 deprecated, 1.3.0 yanked."""
    releases = {version: published(VPC, version, module_zip(PARTS)) for version in ("1.1.0", "1.2.0", "1.3.0")}
    owner, address = Viewer(dora), ModuleAddress.parse(VPC)
    ACTIONS.deprecate(viewer=owner, address=address, version="1.2.0", reason="Leaks its subnets.", replacement="2.0.0")
    ACTIONS.yank(viewer=owner, address=address, version="1.3.0", reason="Deletes the gateway.")
    return releases


def test_the_tools_say_what_they_take(tofu, bob):
    tools = send(tofu(bob), "tools/list").json()["result"]["tools"]

    assert [tool["name"] for tool in tools] == [
        "find_modules",
        "find_providers",
        "choose_version",
        "describe_version",
        "read_example",
        "compare_versions",
        "show_consequences",
    ]
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools)
    assert tools[0]["inputSchema"]["required"] == ["words"]
    assert set(tools[0]["inputSchema"]["properties"]) == {"words", "namespace", "system"}


@pytest.mark.both
def test_modules_are_found_by_those_who_may_read_them(three, ask, bob, charlie):
    (found,) = ask(bob, "find_modules", words="vpc")["modules"]

    assert (found["address"], found["version"], found["lifecycle"]) == (VPC, "1.2.0", "deprecated")
    assert ask(bob, "find_modules", words="vpc", system="gcp") == {"modules": [], "more": False}
    assert ask(charlie, "find_modules", words="vpc") == {"modules": [], "more": False}


def test_the_version_to_use_is_the_highest_maintained_one(three, ask, bob):
    said = ask(bob, "choose_version", address=VPC)

    assert (said["version"], said["selected_by_clients"]) == ("1.1.0", "1.2.0")
    assert said["advice"] == "Pin 1.1.0: clients select 1.2.0, which is deprecated."
    assert said["warnings"] == [
        "1.2.0 is deprecated: Leaks its subnets. Use 2.0.0 instead.",
        "1.3.0 is yanked: Deletes the gateway. New installs do not get it.",
    ]
    assert 'version = "1.1.0"' in said["block"]
    assert 'name = "" # string' in said["block"]
    assert [(one["version"], one["lifecycle"]["state"]) for one in said["versions"]] == [
        ("1.3.0", "yanked"),
        ("1.2.0", "deprecated"),
        ("1.1.0", "maintained"),
    ]


def test_a_constraint_is_read_as_clients_read_it_and_what_is_in_quarantine_is_not_there(
    published, three, ask, bob, olga
):
    def chosen(**more):
        said = ask(bob, "choose_version", address=VPC, **more)
        assert bool(said["block"]) == bool(said["version"])
        return said["version"], said["advice"]

    none = "No version that clients install matches '{}'; the highest is 1.2.0."
    best = "Every version that matches is deprecated; 1.2.0 is the highest."
    assert chosen(constraint="= 1.1.0") == ("1.1.0", "Use 1.1.0, the highest version that matches.")
    assert chosen(constraint="~> 1.2.0") == ("1.2.0", best)
    assert chosen(constraint="= 1.3.0") == (None, none.format("= 1.3.0"))
    assert chosen(constraint=">= 2.0") == (None, none.format(">= 2.0"))

    ACTIONS.quarantine(viewer=Viewer(olga), address=ModuleAddress.parse(VPC), version="1.1.0", reason="Malware.")
    assert chosen()[0] == "1.2.0"
    assert "no version 1.1.0" in ask(bob, "describe_version", address=VPC, version="1.1.0")
    published("acme/fresh/aws", "1.0.0-rc.1")
    said = ask(bob, "choose_version", address="acme/fresh/aws")
    assert said["version"] is None
    assert said["advice"].endswith("such as 1.0.0-rc.1."), "there is no stable version"


def test_a_version_is_described_with_inputs_parts_and_a_block(three, ask, bob):
    said = ask(bob, "describe_version", address=f"127.0.0.1:8443/{VPC}", version="1.2.0")

    assert said["warnings"] == ["1.2.0 is deprecated: Leaks its subnets. Use 2.0.0 instead."]
    assert [(one["name"], one["type"], one["required"]) for one in said["folder"]["inputs"]] == [
        ("name", "string", True)
    ]
    assert (said["submodules"], said["examples"]) == (["modules/subnet"], ["examples/simple"])
    assert said["origin"] == "published by a person in a browser (not verified)"
    assert "readme" not in said["folder"]

    subnet = ask(bob, "describe_version", address=VPC, folder="subnet")
    assert (subnet["version"], subnet["folder"]["path"]) == ("1.2.0", "modules/subnet")
    assert 'cidr = "" # string' in subnet["block"]
    assert ask(bob, "describe_version", address=VPC, folder="simple")["block"] is None


def test_an_example_calls_this_registry_and_two_versions_are_compared_with_their_lifecycles(published, three, ask, bob):
    said = ask(bob, "read_example", address=VPC, version="1.3.0", example="simple")

    assert said["warnings"] == ["1.3.0 is yanked: Deletes the gateway. New installs do not get it."]
    assert 'source  = "127.0.0.1:8443/acme/vpc/aws"\n  version = "1.3.0"' in said["files"]["main.tf"]
    refusal = ask(bob, "read_example", address=VPC, example="complete")
    assert "no folder 'complete'" in refusal
    assert "examples/simple" in refusal

    published(VPC, "2.0.0", module_zip(MODULE))
    said = ask(bob, "compare_versions", address=VPC, before="1.2.0", after="2.0.0")
    assert (said["severity"], said["is_said"]) == ("breaking", True)
    assert [one["rule"] for one in said["changes"]] == ["submodule_removed"]
    assert said["warnings"] == ["1.2.0 is deprecated: Leaks its subnets. Use 2.0.0 instead."]


def test_the_consequences_are_as_much_as_the_role_and_token_let_read(published, three, ask, bob, dora):
    published("acme/app/aws", "1.0.0")
    calls(Module.objects.get(name="app"), VPC, constraint="1.1.0")
    reported(bob, three["1.1.0"], "acme/shop-infra")

    said = ask(bob, "show_consequences", address=VPC, version="1.1.0")
    assert (said["act"], said["fails"], said["may_fail"], said["downloads"]) == ("yank", 1, 0, 0)
    assert [(one["kind"], one["name"], one["effect"]) for one in said["hits"]] == [("module", "acme/app/aws", "fails")]
    owned = ask(dora, "show_consequences", address=VPC, version="1.1.0", act="quarantine")
    assert (owned["fails"], owned["may_fail"], owned["people"]) == (1, 1, 2)
    assert "Expected one of: deprecate, yank" in ask(bob, "show_consequences", address=VPC, version="1.1.0", act="burn")


def test_the_consequences_of_several_versions_are_those_of_all_together(published, three, ask, bob):
    """1.3.0 is yanked already, so that nothing is left for who allows 1.1 and 1.2."""
    published("acme/app/aws", "1.0.0")
    calls(Module.objects.get(name="app"), VPC, constraint="~> 1.1")

    one = ask(bob, "show_consequences", address=VPC, version="1.2.0")
    said = ask(bob, "show_consequences", address=VPC, version="1.1.0, 1.2.0")
    assert (one["fails"], one["moves"], said["fails"], said["moves"]) == (0, 1, 1, 0)
    assert {number: life["state"] for number, life in said["lifecycles"].items()} == {
        "1.1.0": "maintained",
        "1.2.0": "deprecated",
    }
    assert "Expected 1 to 50" in ask(bob, "show_consequences", address=VPC, version=" , ")


def test_a_provider_is_found_chosen_and_described(acme, ask, bob):
    key = cast.add_key(acme, signing_key("ed25519"))
    refresh(cast.add_version(key, signing_key("ed25519"), "dns", "1.0.0").provider)

    (found,) = ask(bob, "find_providers", words="dns")["providers"]
    chosen = ask(bob, "choose_version", address=found["address"])
    said = ask(bob, "describe_version", address=found["address"])

    assert chosen["version"] == said["version"] == found["version"]
    assert f'version = "{said["version"]}"' in said["block"]
    assert {one["os"] for one in said["packages"]} >= {"linux"}


def test_a_private_module_is_hidden_from_a_stranger_and_costs_others_few_queries(
    three, ask, bob, charlie, django_assert_max_num_queries
):
    for tool, more in {
        "choose_version": {},
        "describe_version": {},
        "read_example": {"example": "simple"},
        "compare_versions": {"before": "1.1.0", "after": "1.2.0"},
        "show_consequences": {"version": "1.1.0"},
    }.items():
        assert ask(charlie, tool, address=VPC, **more).startswith("There is no namespace 'acme' that you can see.")
        with django_assert_max_num_queries(12):
            assert isinstance(ask(bob, tool, address=VPC, **more), dict), tool
    with django_assert_max_num_queries(10):
        ask(bob, "find_modules", words="vpc")


def test_a_wrong_call_gets_a_sentence(three, ask, bob):
    for tool, arguments, refusal in (
        ("publish", {}, "There is no tool 'publish'."),
        ("find_modules", {"word": "vpc"}, "There is no field 'word'."),
        ("find_modules", {}, "words: This field is required."),
        ("choose_version", {"address": "vpc"}, "The address 'vpc' has 1 part"),
        ("choose_version", {"address": VPC, "constraint": "newest"}, "found version constraint 'newest'"),
        ("describe_version", {"address": VPC, "version": "9.9.9"}, "no version 9.9.9"),
    ):
        assert refusal in ask(bob, tool, **arguments)


def test_an_answer_of_any_module_fits_and_says_what_was_cut(published, ask, bob):
    inputs = "\n".join(f'variable "v{n}" {{\n  description = "{"x" * 300}"\n}}' for n in range(2_000))
    published(VPC, "1.0.0", module_zip({"main.tf": inputs}))

    said = ask(bob, "describe_version", address=VPC)

    assert len(json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()) <= sizes.MAX_BYTES
    assert f"folder.inputs: {len(said['folder']['inputs'])} of 2000 entries" in said["shortened"]
