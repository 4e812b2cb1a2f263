"""Requests to another registry about its modules, and the policy on their versions."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.contrib.mirror.asking import registry_calls
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import Upstream
from apps.contrib.mirror.records import modules
from apps.contrib.mirror.records.modules import HostedModule, KnownVersion
from apps.lib import versions
from apps.lib.errors import Invalid
from tests.builders import faults
from tests.builders.misbehaving import DISCOVERY, HOST, Registry
from tests.rows import for_each_row

VPC = HostedModule(HOST, "Acme", "vpc", "aws")
WHERE = "git::https://git.acme.example/vpc.git?ref=v{version}"


def known(version: str = "1.0.0", *, days: int = 0) -> KnownVersion:
    key = versions.parse(version).sort_key
    return KnownVersion(version, key, timezone.now() - timedelta(days=days))


@for_each_row(
    ("text", "found"),
    [
        ("registry.opentofu.org/terraform-aws-modules/vpc/aws", "registry.opentofu.org/terraform-aws-modules/vpc/aws"),
        ("Registry.OpenTofu.org/Azure/network/azurerm", "registry.opentofu.org/Azure/network/azurerm"),
        ("https://registry.opentofu.org/acme/vpc/aws", None),
        ("git@github.com:acme/vpc.git", None),
        ("github.com/acme/vpc", None),
        ("acme/vpc/aws", None),
        ("localhost/acme/vpc/aws", None),
        ("registry.acme.example:8443/acme/vpc/aws", None),
    ],
)
def test_an_address_with_a_host_is_a_module_and_all_else_is_not(text, found):
    assert (str(modules.parse_address(text) or "") or None) == found


@for_each_row("text", ["a.example/acme/vpc/", "a.example/../vpc/aws", "a.example/acme/v%2Fpc/aws"])
def test_an_address_with_a_name_that_no_registry_has_is_refused(text):
    with pytest.raises(Invalid, match="is not the address of a module"):
        modules.parse_address(text)


def test_versions_and_locations_are_asked_of_modules_v1(registry: Registry, upstream: Upstream):
    listed = registry.add_module("Acme/vpc/aws", WHERE, ["1.0.0", "1.1.0", "1.1.0+build", "2.0"])
    listed.more = {"1.0.0": {"published_at": "2024-05-01T10:00:00Z"}, "1.1.0": {"published_at": "yesterday"}}

    found = modules.listed(upstream, VPC)

    assert [one.version for one in found] == ["1.0.0", "1.1.0"]
    assert [one.published_at and one.published_at.year for one in found] == [2024, None]
    assert modules.location_of(upstream, VPC, "1.0.0") == WHERE.format(version="1.0.0")
    assert upstream.discovered == ""  # that of providers is another URL


def test_the_token_goes_to_the_registry_alone(registry: Registry, upstream: Upstream):
    from apps.accounts.identity import sealing

    upstream.sealed_token = sealing.seal("pears", "upstream")
    upstream.save()
    registry.token = "pears"
    registry.add_module("Acme/vpc/aws", WHERE)

    assert modules.listed(upstream, VPC)
    registry.discovery = {"modules.v1": f"{registry.other_name_url}/v1/modules/"}
    with pytest.raises(FetchFailed, match="401"):
        modules.listed(upstream, VPC)


@for_each_row(
    ("document", "code"),
    [
        ({"providers.v1": "/v1/providers/"}, "no_modules"),
        ({"modules.v1": 7}, "no_modules"),
        ({"modules.v1": "file:///etc/"}, "bad_discovery"),
        ({"modules.v1": "/" + "a" * 600}, "bad_discovery"),
        ({"modules.v1": "{public}/v1/modules/"}, "own_registry"),
    ],
)
def test_a_registry_without_modules_or_that_leads_to_this_larder_is_told(
    document, code, registry: Registry, upstream: Upstream, settings
):
    found = document.get("modules.v1")
    registry.discovery = (
        {"modules.v1": found.format(public=settings.PUBLIC_URL)} if isinstance(found, str) else document
    )
    with pytest.raises(FetchFailed) as failed:
        modules.listed(upstream, VPC)
    assert failed.value.code == code


def test_a_location_in_the_body_goes_before_the_header_and_only_a_location_may_have_none(
    registry: Registry, upstream: Upstream
):
    listed = registry.add_module("Acme/vpc/aws", WHERE)
    body = b'{"location": "git::https://a.example/b.git?ref=v1"}'
    registry.misbehave(
        listed.download_path("1.0.0"),
        faults.says(200, body, Content_Type="application/json", X_Terraform_Get="git::https://c.example/d.git?ref=v1"),
    )
    assert modules.location_of(upstream, VPC, "1.0.0") == "git::https://a.example/b.git?ref=v1"

    registry.misbehave(DISCOVERY, faults.says(204))
    with pytest.raises(FetchFailed, match="the answer was 204"):
        registry_calls.discover_modules(upstream)


def test_an_address_is_compared_with_patterns_in_lower_case(upstream: Upstream):
    upstream.rules.create(position=1, pattern="acme/vpc", effect="deny", reason="Broken")
    found = modules.decider(upstream, VPC)(known(), timezone.now())
    assert (found.is_visible, found.available_at) == (False, None)
    assert found.sentence.startswith(f"{HOST}/acme/vpc/aws 1.0.0 is refused by rule 1: deny acme/vpc (Broken)")


@for_each_row(("days", "is_visible"), [(2, False), (4, True)])
def test_the_cool_down_of_the_upstream_applies(days, is_visible, upstream: Upstream):
    upstream.cooldown_days = 3
    upstream.save()
    found = modules.decider(upstream, VPC)(known(days=days), timezone.now())
    assert found.is_visible is is_visible
    assert (found.available_at is None) is is_visible
