"""What the routes of service accounts name: one account of each team, with one token."""

from apps.accounts.identity import tokens
from apps.accounts.models import Scope
from apps.accounts.people import service_accounts

NOWHERE = {"account_id": 0, "service_token_id": 0}
BODIES = {
    ("api:leaked-tokens", "POST"): {"data": '{"tokens": [{"token": "none"}]}', "content_type": "application/json"},
    ("portal:service-account", "POST"): {"data": {"label": "ci", "scope": "read", "days": 30}},
    ("portal:service-account-new", "POST"): {"data": {"name": "nightly"}},
}


def place(team, manager):
    account = service_accounts.create(team=team, name="ci", actor=manager)
    token, _ = tokens.issue(user=account, label="its", scope=Scope.READ, actor=manager)
    return {"account_id": account.pk, "service_token_id": token.pk}
