"""Several exchanges at once: of one id token, and of two repositories for a rule that has pinned no id yet."""

from functools import partial

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import ApiToken, Role
from apps.contrib.trusted import exchange, publishers
from apps.contrib.trusted.refusals import ExchangeRefused
from apps.lib.errors import Conflict
from tests.builders.ci_claims import SHAPES
from tests.threads import at_once

pytestmark = [pytest.mark.both, pytest.mark.django_db(transaction=True)]


def ended(results):
    return [one for one in results if isinstance(one, ExchangeRefused)]


def test_one_id_token_that_is_sent_several_times_at_once_is_exchanged_once(add, id_token):
    add()
    refused = ended(at_once(*[partial(exchange.exchange, id_token(claims={"jti": "the same"}))] * 4))
    assert [one.claim for one in refused] == ["jti"] * 3
    assert ApiToken.objects.count() == 1


def test_one_of_two_repositories_with_a_name_is_pinned(add, id_token):
    rule = add(repository_id="")
    texts = [id_token(claims={"repository_id": number}) for number in ("1", "2")]
    refused = ended(at_once(*[partial(exchange.exchange, text) for text in texts]))
    assert [one.claim for one in refused] == ["repository_id"]
    rule.refresh_from_db()
    assert rule.pinned["repository_id"] in ("1", "2")


def test_a_rule_that_is_deleted_meanwhile_leaves_no_token(add, id_token, dora):
    rule = add()
    at_once(partial(exchange.exchange, id_token()), partial(publishers.end, publisher=rule, actor=Viewer(dora)))
    assert not [token for token in ApiToken.objects.filter(user=rule.user) if token.is_usable]
    assert not rule.user.grants.filter(role=Role.PUBLISHER).exists()


def test_two_equal_rules_at_once_are_one(issuer, acme, dora):
    given = {"kind": "github", "issuer": issuer.url, **SHAPES["github"].rule}
    calls = [partial(publishers.create, namespace=acme, actor=Viewer(dora), **given)] * 2
    assert len([one for one in at_once(*calls) if isinstance(one, Conflict)]) == 1


def test_a_namespace_has_so_many_rules_and_no_more(issuer, acme, dora, monkeypatch):
    monkeypatch.setattr(publishers, "MAX_RULES", 1)
    given = {"kind": "github", "issuer": issuer.url, **SHAPES["github"].rule}
    make = partial(publishers.create, namespace=acme, actor=Viewer(dora), **given)
    refused = at_once(*[partial(make, only_name=name) for name in ("vpc/aws", "dns/aws", "lb/aws")])
    assert ["the maximum" in str(one) for one in refused if isinstance(one, Conflict)] == [True] * 2
    assert publishers.of(acme).count() == 1
