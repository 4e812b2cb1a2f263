"""Addresses: good names pass, and each bad one is refused with the rule it breaks."""

from collections.abc import Callable

import pytest

from apps.lib import addresses
from apps.lib.errors import Invalid
from tests.rows import for_each_row

CHECKS: dict[str, Callable[..., None]] = {
    "namespace": addresses.check_namespace,
    "name": addresses.check_module_name,
    "system": addresses.check_system,
    "type": addresses.check_provider_type,
}
GOOD = (
    ("namespace", "acme"), ("namespace", "a"), ("namespace", "0"), ("namespace", "a-b-c"), ("namespace", "a" * 64),
    ("namespace", "my-v1"), ("namespace", "api2"), ("namespace", "terraform-aws-modules"), ("namespace", "internal"),
    ("namespace", "Azure"), ("namespace", "GoogleCloudPlatform"), ("namespace", "my_team"), ("name", "AKS_2"),
    ("name", "vpc"), ("name", "my_vpc"), ("name", "my-vpc_2"), ("name", "a" * 64), ("name", "terraform-vpc"),
    ("name", "blob"), ("name", "v1"), ("name", "admin"), ("system", "aws"), ("system", "0"), ("system", "a" * 64),
    ("system", "null"), ("type", "dns"), ("type", "google-beta"), ("type", "terraform"), ("type", "terraformer-x"),
)  # fmt: skip
BAD = (
    ("namespace", "", "is empty"), ("namespace", "Admin", "part of Larder's own URLs"),
    ("namespace", "WELL_known", "clients request it"), ("namespace", "a--b", "contains '--'"),
    ("namespace", "-a", "starts with '-'"), ("namespace", "a-", "ends with '-'"), ("namespace", "-", "starts with '-'"),
    ("namespace", "a_-b", "contains '_-'"), ("namespace", "_a", "starts with '_'"),
    ("namespace", "a.b", "a dot '.' at position 2"),
    ("namespace", "a b", "a space ' ' at position 2"), ("namespace", "a/b", "the character '/' at position 2"),
    ("namespace", "caf\u00e9", "the character 'é' at position 4"), ("namespace", "a\n", "the character '\\n'"),
    ("namespace", "a\x00b", "the character '\\x00'"), ("namespace", "\u0661a", "at position 1"),
    ("namespace", "a" * 65, "65 characters long, expected at most 64"), ("namespace", "%61", "the character '%'"),
    ("namespace", "api", "part of Larder's own URLs"), ("namespace", "admin", "part of Larder's own URLs"),
    ("namespace", "static", "reserved"), ("namespace", "healthz", "reserved"), ("namespace", "readyz", "reserved"),
    ("namespace", "account", "reserved"), ("namespace", "new", "reserved"), ("namespace", "tokens", "reserved"),
    ("namespace", "releases", "reserved"), ("namespace", "search", "reserved"), ("namespace", "archives", "reserved"),
    ("namespace", "uploads", "path word of /v2/"), ("namespace", "v1", "clients request it"),
    ("namespace", "v2", "clients request it"), ("namespace", "providers", "clients request it"),
    ("namespace", "modules", "clients request it"), ("namespace", "well-known", "clients request it"),
    ("name", "", "is empty"), ("name", "Blobs", "path word of /v2/"), ("name", "a__b", "contains '__'"),
    ("name", "a-_b", "contains '-_'"), ("name", "_a", "starts with '_'"), ("name", "a_", "ends with '_'"),
    ("name", "a" * 65, "expected at most 64"), ("name", "blobs", "path word of /v2/"), ("name", "tags", "reserved"),
    ("name", "manifests", "reserved"), ("name", "referrers", "reserved"), ("name", "providers", "reserved"),
    ("system", "", "is empty"), ("system", "a-b", "a dash '-' at position 2"), ("system", "a_b", "an underscore"),
    ("system", "AWS", "upper-case 'A'"), ("system", "a" * 65, "expected at most 64"), ("system", "blobs", "reserved"),
    ("type", "terraform-x", "starts with 'terraform-', which clients refuse"), ("type", "opentofu-x", "'opentofu-'"),
    ("type", "terraform-provider-dns", "starts with 'terraform-'"), ("type", "a_b", "an underscore"),
    ("type", "Dns", "upper-case 'D' at position 1"), ("type", "a" * 64, "expected at most 63"),
)  # fmt: skip


@for_each_row(("kind", "text"), GOOD)
def test_it_accepts_a_good_name(kind: str, text: str):
    CHECKS[kind](text)


@for_each_row(("kind", "text", "words"), BAD)
def test_it_refuses_a_bad_name_and_says_which_rule(kind: str, text: str, words: str):
    with pytest.raises(Invalid) as refusal:
        CHECKS[kind](text)

    assert words in str(refusal.value)
    assert str(refusal.value).isprintable()


def test_it_suggests_the_lower_case_and_the_type_without_its_prefix():
    with pytest.raises(Invalid) as upper:
        addresses.check_system("AWS")
    with pytest.raises(Invalid) as worse:
        addresses.check_system("My Cloud")
    with pytest.raises(Invalid) as prefixed:
        addresses.check_provider_type("terraform-provider-dns")

    assert upper.value.hint == "Use 'aws'."
    assert worse.value.hint == ""  # neither is 'my cloud' a name
    assert prefixed.value.hint == "Use 'dns'."


@for_each_row(
    ("kind", "text", "hint"),
    [
        ("namespace", "Platform Team", "Use 'Platform-Team'."),
        ("namespace", "../etc", "Use 'etc'."),
        ("system", "AWS Cloud", ""),
        ("type", "My__DNS (new)", "Use 'my-dns-new'."),
        ("namespace", "???", ""),
        ("namespace", "x " * 200, ""),
    ],
)
def test_what_it_suggests_is_a_name(kind, text, hint):
    with pytest.raises(Invalid) as refusal:
        CHECKS[kind](text)
    assert refusal.value.hint == hint
    if hint:
        CHECKS[kind](hint.split("'")[1])


def test_an_operator_can_reserve_more_names_in_either_spelling():
    for check in CHECKS.values():
        with pytest.raises(Invalid, match="the operator has reserved it"):
            check("hashicorp", reserved=frozenset({"hashicorp"}))
    with pytest.raises(Invalid, match="the operator has reserved it"):
        addresses.check_module_name("Our_own", reserved=frozenset({"our-Own"}))
    addresses.check_namespace("acme", reserved=frozenset({"hashicorp"}))


def test_an_address_reads_and_writes_the_same_text_and_has_one_canonical_name():
    address = addresses.ModuleAddress.parse("acme/my_vpc/aws")

    assert address == addresses.ModuleAddress("acme", "my_vpc", "aws")
    assert str(address) == "acme/my_vpc/aws"
    assert address.path_name == "my_vpc/aws"
    assert addresses.canonical("My_VPC-2") == addresses.canonical("my-vpc_2") == "my-vpc-2"
    assert addresses.ModuleAddress.parse("My_Team/AKS_2/azurerm").repository == "my_team/aks_2/azurerm"
    assert addresses.ProviderAddress.parse("My_Team/dns").source == "my-team/dns"


@for_each_row("text", ["", "a", "a/b", "a/b/c/d", "a//c", "A/b/C", "a/b/c-d", "/a/b/c", "a/b/c\n"])
def test_it_refuses_what_is_no_module_address(text: str):
    with pytest.raises(Invalid):
        addresses.ModuleAddress.parse(text)


def test_the_path_converter_hands_the_text_through():
    segment = addresses.Segment()

    assert segment.to_python("A b") == segment.to_url("A b") == "A b"
    assert segment.regex == "[^/]+"
