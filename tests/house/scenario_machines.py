"""What the routes of people, service accounts and work name: an account of each team with one token, a failed job."""

import json

from apps.accounts.identity import tokens
from apps.accounts.models import Scope
from apps.accounts.people import service_accounts
from apps.jobs.models import Job, State
from apps.releases.lifecycle import verification
from apps.snippets import publish_script
from tests.house.scenario_people import PASSKEY_ID

# No form that was sent waits for a proof.
NO_FORM = {"key": "forged", "passkey_id": PASSKEY_ID, "script": publish_script.newest().digest}
NOWHERE = {"account": "ci", "account_id": 0, "service_token_id": 0, "job_id": 0} | NO_FORM


def bodies(namespace):
    """By route and method; `namespace` is that of the row."""
    texts = {
        ("api:leaked-tokens", "POST"): {"tokens": [{"token": "none"}]},
        ("api:service-tokens", "POST"): {"label": "ci", "scope": "publish"},
        ("api:release-answer", "POST"): {},
        ("api:service-token-rotate", "POST"): {},
        ("api:grant-user", "PUT"): {"role": "reader"},
        ("api:grant-team", "PUT"): {"role": "reader"},
        ("api:team", "PUT"): {"description": "changed"},
        ("api:team-member", "PUT"): {"manager": True},
        ("api:user", "PATCH"): {"active": False},
        ("api:invitations", "POST"): {"note": "Erin", "namespace": namespace, "role": "reader"},
    }
    return {case: {"data": json.dumps(body), "content_type": "application/json"} for case, body in texts.items()} | {
        ("portal:key-create", "POST"): {"data": {"algorithm": "ed25519"}},
        ("portal:service-account", "POST"): {"data": {"label": "ci", "scope": "read", "days": 30}},
        ("portal:service-account-manage", "POST"): {"data": {"allow": "1"}},
        ("portal:service-account-new", "POST"): {"data": {"name": "nightly"}},
    }


def place(team, manager, release):
    account = service_accounts.create(team=team, name="ci", actor=manager)
    token, _ = tokens.issue(user=account, label="its", scope=Scope.READ, actor=manager)
    job = Job.objects.create(kind=verification.JOB, target=release.pk, state=State.FAILED)
    return {"account": "ci", "account_id": account.pk, "service_token_id": token.pk, "job_id": job.pk} | NO_FORM
