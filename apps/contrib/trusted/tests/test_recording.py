"""The origin of what a run publishes: its verified claims, from the exchange to the release."""

from django.test import Client

from apps.accounts.identity.trusted.kept_claims import MAX_CLAIMS
from apps.contrib.trusted.tests.conftest import claims_of
from tests.builders.ci_claims import SHAPES
from tests.releases.origin.conftest import origin_of, send

__all__ = ["send"]


def test_a_token_with_many_claims_keeps_those_that_say_where_a_release_comes_from(add, issuer, exchange, send):
    add()
    claims = {name: SHAPES["github"].claims[name] for name in ("sha", "workflow_sha", "workflow_ref")}
    many = {f"a_property_{number}": "x" for number in range(60)}
    token = exchange(issuer.signed({**many, **claims_of(issuer, SHAPES["github"])})).json()["token"]

    kept = origin_of(send(Client(headers={"Authorization": f"Bearer {token}"}))).claims
    assert {name: kept[name] for name in claims} == claims
    assert len(kept) == MAX_CLAIMS
