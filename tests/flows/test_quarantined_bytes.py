"""Bytes in quarantine cannot be published under another name: they would be listed, but never served."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.modules import lifecycle as modules
from apps.providers import lifecycle as providers
from tests.builders.archives import module_zip
from tests.providers.conftest import held
from tests.providers.draft_client import LINUX, URL, DraftClient, codes, zips
from tests.rows import for_each_row

__all__ = ["held"]

WHY = "It calls home."


def quarantine(olga, version: str = "1.2.0") -> None:
    modules.quarantine(viewer=Viewer(olga), address=ModuleAddress.parse("acme/vpc/aws"), version=version, reason=WHY)


@for_each_row("address", ["acme/vpc/aws", "pantry/copy/aws"])
def test_a_module_is_refused_with_the_digest_and_without_whose_it_is(published, olga, address):
    data = module_zip()
    blocked = published("acme/vpc/aws", "1.2.0", data=data)
    quarantine(olga)

    refused = published(address, "3.0.0", data=data)

    assert refused.state == "rejected"
    (reason,) = refused.refusals()
    assert reason.code == "quarantined"
    assert blocked.digest in reason.found
    assert "1.2.0" not in reason.sentence
    assert published("acme/vpc/aws", "1.4.0").state == "published", "other bytes are welcome"
    modules.restore(viewer=Viewer(olga), address=ModuleAddress.parse("acme/vpc/aws"), version="1.2.0", reason=WHY)
    assert published(address, "3.0.0", data=data).state == "published"


@pytest.mark.both
def test_one_package_of_a_provider_is_enough(tofu, alice, olga, held):
    draft_client, files = DraftClient(tofu(alice)), zips()
    assert draft_client.publish(files, protocols=["5.0"])["state"] == "published"
    where = ProviderAddress.parse("acme/dns")
    providers.quarantine(viewer=Viewer(olga), address=where, version="1.2.0", reason=WHY)
    again = zips("1.3.0") | {LINUX.replace("1.2.0", "1.3.0"): files[LINUX]}

    refused = DraftClient(tofu(alice), URL.replace("1.2.0", "1.3.0")).publish(again, protocols=["5.0"])

    assert refused["state"] == "rejected"
    assert codes(refused) == ["quarantined"]
    assert refused["reasons"][0]["file"] == LINUX.replace("1.2.0", "1.3.0")
    assert (
        DraftClient(tofu(alice), URL.replace("1.2.0", "1.4.0")).publish(zips("1.4.0"), protocols=["5.0"])["state"]
        == "published"
    )
