"""Identity providers in the chart: Larder reads what its values say."""

from typing import Any

import pytest

from apps.contrib.openid.providers import OpenIdProvider
from registry_site import identity_providers, rooms
from tests.charts import example, of_kind, variables
from tests.site.startup.test_chart_parts import process

__all__ = ["process"]

pytestmark = pytest.mark.needs("helm")


def test_larder_reads_the_identity_providers_as_they_are_written(process: Any) -> None:
    documents = example("single-sign-on")
    file = of_kind("ConfigMap", documents)["sign-on"]["data"]["sign-on.yaml"]
    files = {"secrets/sign-on/oidc": "corp=a-secret\n", "config/saml/hq.xml": "<xml/>"}
    process(variables(documents)["web"], files | {"config/sign-on/sign-on.yaml": file})
    kinds, _ = rooms.identity_providers(frozenset())
    corp, partners, *others = identity_providers.read(kinds)
    assert isinstance(corp, OpenIdProvider)
    assert isinstance(partners, OpenIdProvider)

    assert (corp.id, corp.issuer) == ("corp", "https://id.acme.example/realms/acme")
    assert (corp.client_id, corp.secret, corp.name) == ("larder", "a-secret", "Acme ID")
    assert corp.scopes == ("openid", "profile", "groups")
    assert corp.second_factors == {"mfa", "hwk"}
    assert (partners.id, partners.secret, partners.new_accounts) == ("partners", "", "nobody")
    hq = ("https://id.acme.example/saml", "Acme HQ", "memberOf")
    assert [(one.issuer, one.name, one.groups_claim) for one in others] == [hq] * len(kinds[1:])
    assert variables(documents)["web"]["LARDER_LOCAL_SIGN_IN"] == "staff"
