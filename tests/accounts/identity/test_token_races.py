"""Tokens of one service account that are made at once: no more than it may have."""

from functools import partial

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Scope
from apps.accounts.people import service_accounts, teams
from apps.lib.errors import Conflict
from tests.threads import at_once

pytestmark = [pytest.mark.both, pytest.mark.django_db(transaction=True)]


def test_of_many_at_once_a_service_account_gets_two(acme, dora):
    actor = Viewer(dora)
    machine = service_accounts.create(team=teams.create(name="cooks", actor=actor), name="ci", actor=actor)
    make = partial(tokens.issue, user=machine, label="CI", scope=Scope.PUBLISH, actor=actor)

    results = at_once(*[make] * 6)

    assert len([one for one in results if isinstance(one, Conflict)]) == 6 - tokens.SERVICE_TOKENS
    assert ApiToken.objects.filter(user=machine).count() == tokens.SERVICE_TOKENS
