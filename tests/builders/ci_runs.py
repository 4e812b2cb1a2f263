"""Trusted publishers and runs of CI as rows, for what the core says of them. The verbs are in their own room."""

import hashlib
import json
from datetime import timedelta
from typing import Any

from apps.accounts.access import machines
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.identity.trusted import kept_claims
from apps.accounts.identity.trusted.vendors import VENDORS
from apps.accounts.models import Namespace, TokenExchange, TrustedPublisher, User
from tests.builders.ci_claims import SHAPES

# On loopback: no page links to one there.
ISSUER = "http://127.0.0.1:1"


def add_rule(
    namespace: Namespace, owner: User, kind: str = "github", *, issuer: str = ISSUER, **more: Any
) -> TrustedPublisher:
    """Add the rule that the claims of `ci_claims` keep, with further fields; None takes one out."""
    fields = {name: value for name, value in {**SHAPES[kind].rule, **more}.items() if value is not None}
    machine = machines.make(namespace, Viewer(owner))
    rule = TrustedPublisher.objects.create(
        namespace=namespace,
        user=machine,
        kind=kind,
        issuer=issuer,
        fields=fields,
        digest=hashlib.sha256(json.dumps([kind, fields]).encode()).hexdigest(),
        created_by=owner,
    )
    machines.name(machine, namespace, f"{kind}-{rule.pk}")
    return rule


def token_of_run(rule: TrustedPublisher, **claims: Any) -> str:
    """Return the secret of a token for a run with these claims, in place of the usual ones."""
    host = rule.issuer.removeprefix("http://")
    said = {"iss": rule.issuer, **SHAPES[rule.kind].claims, **claims}
    said = {name: value.replace("{host}", host) if isinstance(value, str) else value for name, value in said.items()}
    token, secret = tokens.issue_to_run(
        user=rule.user, label=rule.kind, namespace=rule.namespace, only_name="", lifetime=timedelta(minutes=15)
    )
    kept = kept_claims.bounded(
        {name: value for name, value in said.items() if value is not None}, first=VENDORS[rule.kind].claims
    )
    TokenExchange.objects.create(publisher=rule, claims=kept, token=token)
    return secret
