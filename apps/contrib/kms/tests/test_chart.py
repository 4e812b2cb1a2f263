"""Vault in the chart: the signing worker alone reaches it, and has its token."""

import json
from typing import Any

import pytest

from apps.contrib.kms import vault
from apps.contrib.kms.addresses import KINDS, VaultAddress
from registry_site import env
from tests.charts import containers, example, of_kind, pods, variables
from tests.site.startup.test_chart_parts import process

__all__ = ["process"]

pytestmark = pytest.mark.needs("helm")


def test_only_the_signing_worker_reaches_vault(process: Any) -> None:
    documents = example("vault")
    process(variables(documents)["signing-worker"], {})
    [address] = env.kek_addresses("LARDER_SIGNING_KEK_URL", KINDS)
    assert isinstance(address, VaultAddress)
    assert address.kubernetes_role == "larder-signing"
    [mount] = [one for one in containers(documents)["signing-worker"]["volumeMounts"] if one["name"] == "vault-token"]
    assert f"{mount['mountPath']}/token" == str(vault.POD_TOKEN)
    kms = {
        name
        for name, one in of_kind("NetworkPolicy", documents).items()
        if "10.0.9.8/32" in json.dumps(one["spec"]["egress"])
    }

    assert (
        kms == {name for name, pod in pods(documents).items() if "vault-token" in json.dumps(pod)} == {"signing-worker"}
    )
    assert "LARDER_SIGNING_KEK_FILE" not in variables(documents)["signing-worker"]
    assert {name for name, one in variables(documents).items() if "LARDER_SIGNING_KEK_URL" in one} == {"signing-worker"}
