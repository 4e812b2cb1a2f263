"""The module or provider of this registry that a source names, in any spelling of the host"""

import pytest

from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.modules.dependents.sources import provider_of, target_of
from apps.modules.models import ModuleCall, ProviderRequirement
from tests.builders.archives import module_zip
from tests.rows import for_each_row

VPC = ModuleAddress("acme", "vpc", "aws")
DNS = ProviderAddress("acme", "dns")


@pytest.fixture
def bare_host(settings):
    settings.PUBLIC_HOST, settings.HOSTNAMES = "registry.xn--bcher-kva.example", ["modules.example.com"]


@pytest.fixture
def host_with_port(settings):
    settings.PUBLIC_HOST, settings.HOSTNAMES = "registry.example.com:8443", ["modules.example.com"]


@for_each_row(
    "source",
    [
        "registry.bücher.example/acme/vpc/aws",
        "Registry.BÜCHER.example:443/acme/vpc/aws//modules/inner",
        "registry.xn--bcher-kva.example/acme/vpc/aws",
        "modules.example.com/acme/vpc/aws",
        "oci://registry.xn--bcher-kva.example:443/acme/vpc/aws//modules/inner?tag=1.0.0",
        "oci://modules.example.com/acme/vpc/aws?digest=sha256:00",
    ],
)
def test_a_source_in_any_spelling_names_the_module(bare_host, source):
    assert target_of(source) == VPC


@for_each_row(
    "source",
    [
        "acme/vpc/aws",
        "./modules/inner",
        "registry.bücher.example:8443/acme/vpc/aws",
        "registry.bücher.example/acme/vpc",
        "registry.bücher.example/acme/vpc/aws/more",
        "git::https://registry.bücher.example/acme/vpc/aws",
        "//registry.bücher.example/acme/vpc/aws",
        "re\0gistry/acme/vpc/aws",
        "x" * 10_000 + "ü/acme/vpc/aws",
    ],
)
def test_another_source_names_none(bare_host, source):
    assert target_of(source) is None


def test_a_further_name_has_the_port_of_the_first(host_with_port):
    assert target_of("modules.example.com:8443/acme/vpc/aws") == VPC
    assert target_of("modules.example.com/acme/vpc/aws") is None
    assert provider_of("registry.example.com:8443/acme/dns") == DNS
    assert provider_of("modules.example.com/acme/dns") == DNS, "a mirror knows no port"
    assert provider_of("modules.example.com:443/ACME/DNS") == DNS


@for_each_row("source", ["acme/dns", "dns", "", "registry.example.com:8443/dns", "else.where/acme/dns", "/a/b"])
def test_another_provider_is_none_of_ours(host_with_port, source):
    assert provider_of(source) is None


MAIN = """
terraform {
  required_providers {
  dns   = {
    source  = "Registry.example.com:8443/My_team/dns"
    version = "~> 2.0"
  }
  other = { source = "hashicorp/aws" }
}
}
"""
INNER = 'terraform {\n  required_providers { dns = { source = "modules.example.com/acme/dns" } }\n}\n'
EXAMPLE = 'terraform {\n  required_providers { x = { source = "modules.example.com/acme/x" } }\n}\n'
ROWS = [("", "my-team", "dns", "~> 2.0"), ("modules/inner", "acme", "dns", "")]


def rows_of():
    fields = ("unit", "target_namespace", "target_type", "constraint")
    return list(ProviderRequirement.objects.order_by("unit").values_list(*fields))


@pytest.mark.both
def test_a_publish_stores_required_providers(host_with_port, published):
    files = {"main.tf": MAIN, "modules/inner/main.tf": INNER, "examples/full/main.tf": EXAMPLE}
    published(data=module_zip(files))

    assert rows_of() == ROWS
    assert not ModuleCall.objects.exists()
