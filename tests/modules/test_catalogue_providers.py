"""The provider filter of /modules: each provider once, however modules spell it, and nothing that is none"""

import re

import pytest

from apps.modules.catalogue.entries import provider_address
from tests.builders.archives import module_zip
from tests.rows import for_each_row

ROOT = """
terraform {
  required_providers {
    aws   = { source = "hashicorp/aws" }
    g     = { source = local.x }
    older = "~> 1.0"
    two   = { source = "HashiCorp/Random" }
    own   = { source = "Registry.Example.COM:8443/acme/Own" }
  }
}
resource "null_resource" "this" {}
"""
FILES: dict[str, str | bytes] = {
    "main.tf": ROOT,
    "modules/one/main.tf": (
        'resource "aws_vpc" "this" {}\nresource "google_beta" "this" {\n  provider = google-beta\n}\n'
    ),
    "modules/two/main.tf": (
        'terraform {\n  required_providers {\n    aws = { source = "registry.terraform.io/hashicorp/aws" }\n'
        '    random = { source = "registry.opentofu.org/hashicorp/random" }\n'
        '    builtin = { source = "terraform.io/builtin/terraform" }\n  }\n}\n'
    ),
    "examples/full/main.tf": 'resource "elsewhere_thing" "this" {}\n',
}
FACETS = [
    "hashicorp/aws",
    "hashicorp/google-beta",
    "hashicorp/null",
    "hashicorp/older",
    "hashicorp/random",
    "registry.example.com:8443/acme/own",
]


@pytest.mark.both
def test_each_provider_is_offered_once_and_found_in_each_spelling(browser_of, bob, published):
    published("acme/mixed/aws", "1.0.0", data=module_zip(FILES))
    published("acme/other/aws", "1.0.0")
    browser = browser_of(bob)
    select = browser.get("/modules?q=acme").text.partition('id="filter-provider"')[2].partition("</select>")[0]

    offered = dict(re.findall(r'value="([^"]+)"[^>]*>[^<]* \((\d+)\)', select))
    assert sorted(offered) == FACETS
    assert offered["hashicorp/aws"] == "1"
    assert offered["hashicorp/null"] == "2"
    for asked in ("hashicorp/aws", "aws", "AWS", "registry.terraform.io/hashicorp/aws"):
        page = browser.get("/modules", {"q": "acme", "provider": asked}).text
        assert 'href="/modules/acme/mixed/aws"' in page, asked
        assert 'href="/modules/acme/other/aws"' not in page, asked
        assert '<option value="hashicorp/aws" selected>' in page, asked
    own = browser.get("/modules/acme/mixed/aws/1.0.0/dependencies").text
    assert "<code>HashiCorp/Random</code>" in own, "pages show what the author wrote"


@for_each_row(
    ("source", "address"),
    [
        ("aws", "hashicorp/aws"),
        ("Integrations/GitHub", "integrations/github"),
        ("registry.opentofu.org/a/b", "a/b"),
        ("other.example/a/b", "other.example/a/b"),
        ("(unknown)", ""),
        ("local.x", ""),
        ("var.a/b", ""),
        ("a/b/c/d", ""),
        ("a//b", ""),
        ("a/b_c", ""),
        ("-a/b", ""),
        ("", ""),
    ],
)
def test_an_address_is_read_as_clients_read_it(source, address):
    assert provider_address(source) == address
