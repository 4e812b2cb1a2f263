"""People beside the cast: Eve was staff and is disabled, the machine's team owns, Dora may have a second factor."""

from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import generate_totp_secret
from django.test import Client
from fido2.utils import websafe_encode

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.second_factor import SecondFactorAdapter
from apps.accounts.models import Grant, Role
from apps.accounts.people import service_accounts, teams
from tests.accounts.identity.test_cli_login import ASKED
from tests.builders.passkeys import Passkey
from tests.cast import person
from tests.sessions import sign_in

MACHINES = ("bot", "keeper")
PASSKEY_ID = 1_000_000
QUERIES = {("portal:login-authorize", "GET"): f"?{urlencode(ASKED)}"}
# What a session of somebody with a second factor has shown in the last minutes: nothing, if it is from before.
PROOFS: dict[str, list[dict[str, Any]]] = {
    "older": [],
    "password": [{"method": "password"}],
    "factor": [{"method": "mfa", "type": "totp", "id": PASSKEY_ID + 1}],
}


def others(spaces, operator):
    """By their names in the policy's columns. The team has nobody of the cast but the operator."""
    team = teams.create(name="machines", actor=Viewer(operator))
    Grant.objects.bulk_create([Grant(namespace=namespace, team=team, role=Role.OWNER) for namespace in spaces])
    # Two, since no service account has more than two tokens.
    machines = {name: service_accounts.create(team=team, name=name, actor=Viewer(operator)) for name in MACHINES}
    service_accounts.allow_manage(account=machines["keeper"], allowed=True, actor=Viewer(operator))
    return machines | {"eve": person("eve", is_staff=True, is_superuser=True, is_active=False)}


class WithFactor(Client):
    """Its requests meet a person with an app, recovery codes and a passkey; to other clients the person has none."""

    def __init__(self, user, proof):
        super().__init__(raise_request_exception=False)
        seal = SecondFactorAdapter().encrypt
        options = {"user": {"id": str(user.pk)}, "challenge": websafe_encode(b"challenge")}
        rows = {
            Authenticator.Type.WEBAUTHN: {"name": "blue key", "credential": Passkey().created(options)},
            Authenticator.Type.TOTP: {"secret": seal(generate_totp_secret())},
            Authenticator.Type.RECOVERY_CODES: {"seed": seal(RecoveryCodes.generate_seed()), "used_mask": 0},
        }
        self.rows = [
            Authenticator(pk=pk, user=user, type=kind, data=data)
            for pk, (kind, data) in enumerate(rows.items(), start=PASSKEY_ID)
        ]
        sign_in(self, user, confirmed=False)
        browser = SimpleNamespace(session=self.session)
        for shown in PROOFS[proof]:
            record_authentication(browser, user, **shown)
        browser.session.save()

    def request(self, **request):
        Authenticator.objects.bulk_create(self.rows)
        try:
            return super().request(**request)
        finally:
            Authenticator.objects.filter(user=self.rows[0].user_id).delete()
