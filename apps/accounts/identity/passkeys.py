"""Passkeys (WebAuthn) as second factors: allauth's rows, the fido2 library's checks.

fido2 is imported by the functions: no process needs it before the first passkey.
"""

import json
from typing import Any

from allauth.mfa.models import Authenticator
from cryptography.exceptions import InvalidSignature
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from apps.accounts.identity import second_factor
from apps.accounts.models import User
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import Conflict, Invalid, NotFound

MAX_PASSKEYS = 20
MAX_NAME_CHARACTERS = 60
MAX_CHARACTERS = 20_000
# What fido2 and allauth raise for answers of no authenticator, beside a ValidationError.
HOSTILE = (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError, InvalidSignature)


def of(user: User) -> QuerySet[Authenticator]:
    found: QuerySet[Authenticator] = Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN)
    return found.order_by("pk")


def registration_options(user: User) -> dict[str, Any]:
    """Return the options for `navigator.credentials.create`; the session remembers their challenge."""
    from allauth.mfa.webauthn.internal import auth
    from fido2.webauthn import ResidentKeyRequirement, UserVerificationRequirement

    options, state = auth.get_server().register_begin(
        user=auth.build_user_payload(user),
        credentials=auth.get_credentials(user),
        # A passkey that can sign in by itself wherever the authenticator has room and a PIN, else a second factor.
        resident_key_requirement=ResidentKeyRequirement.PREFERRED,
        user_verification=UserVerificationRequirement.PREFERRED,
        extensions={"credProps": True},
    )
    auth.set_state(state)
    return dict(dict(options)["publicKey"])


def request_options(user: User) -> dict[str, Any]:
    """Return the options for `navigator.credentials.get` with one of the person's passkeys."""
    from allauth.mfa.webauthn.internal import auth

    return dict(auth.begin_authentication(user)["publicKey"])


@transaction.atomic
def add(*, request: HttpRequest, user: User, name: str, credential: Any) -> list[str]:
    """Store a new passkey; return recovery codes, once, if the person had none. Raises Invalid and Conflict."""
    from allauth.mfa.webauthn.internal import auth

    second_factor.lock(request, user)
    if of(user).count() >= MAX_PASSKEYS:
        raise Conflict(f"You have {MAX_PASSKEYS} passkeys already.", hint="Remove one that you no longer use.")
    name = " ".join(name.split())[:MAX_NAME_CHARACTERS] or "Passkey"
    try:
        # The fields that are read again; clients send more.
        response = {field: credential["response"][field] for field in ("clientDataJSON", "attestationObject")}
        answer = {field: credential[field] for field in ("id", "rawId", "type")} | {"response": response}
        if len(json.dumps(answer)) > MAX_CHARACTERS:
            raise ValueError("too long")
        auth.complete_registration(answer)
        row = auth.WebAuthn.add(user, name, answer).instance
    except (ValidationError, *HOSTILE):
        raise Invalid("This is not a passkey's response to this page.", hint="Reload the page and try again.") from None
    return second_factor.enable(request, row, passkey=name)


@transaction.atomic
def remove(*, request: HttpRequest, user: User, passkey_id: int) -> None:
    """Remove a passkey; with the last factor go the recovery codes. Raises NotFound, and Conflict if it is required."""
    second_factor.lock(request, user)
    row = of(user).filter(pk=passkey_id).first()
    if row is None:
        raise NotFound("You have no such passkey.", hint="The second factor page lists your passkeys.")
    second_factor.check_another(user, besides=row)
    name = str(row)
    row.delete()
    second_factor.end_codes_without_factor(user)
    record(Kind.SECOND_FACTOR_REMOVED, actor_id=user.pk, subject=f"user/{user.pk}", passkey=name)


def is_user_verified(credential: Any) -> bool:
    """Return whether the authenticator has asked for a PIN or a finger. Raises one of HOSTILE."""
    from fido2.webauthn import AuthenticationResponse

    answer = AuthenticationResponse.from_dict(credential)
    return bool(answer.response.authenticator_data.is_user_verified())
