"""`login.v1`: https://opentofu.org/docs/internals/login-protocol/, which is RFC 6749 (4.1) with PKCE (RFC 7636).

A person allows a login in the browser and gets a code; the client exchanges it for a token. Without the verifier,
which never leaves the client until then, the code is worth nothing.
"""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.identity import sessions, tokens
from apps.accounts.models import ApiToken, LoginCode, Scope
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import Invalid, RegistryError

CLIENT_ID = "larder-cli"
# Clients draw from [first, last) and listen on 127.0.0.1. No browser blocks one of these ports, as they do 10080.
FIRST_PORT, LAST_PORT = 10_000, 10_050
# To install is all that a client does with it. Who publishes makes a token for that.
SCOPE = Scope.READ
CODE_LIFETIME = timedelta(seconds=60)
# So long a second use of a code still ends its token.
CODE_MEMORY = timedelta(days=1)
MAX_STATE_LENGTH = 1000
MAX_MACHINE_LENGTH = 40

_REDIRECT = re.compile(r"http://localhost:([1-9][0-9]{3,4})/login", re.ASCII)
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)
# By the User-Agent of the exchange.
_PROGRAMS = {"OpenTofu": "tofu", "Terraform": "terraform"}


class GrantRefused(RegistryError):
    """`code` is that of RFC 6749, section 5.2."""

    code = "invalid_grant"


class ClientRefused(GrantRefused):
    code = "invalid_client"


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """A valid authorization request. Only its `redirect_uri` may ever be redirected to."""

    redirect_uri: str
    challenge: str
    state: str

    @property
    def origin(self) -> str:
        return self.redirect_uri.removesuffix("/login")


def login_request(fields: Mapping[str, str]) -> LoginRequest:
    """Check the parameters of an authorization request. Raises Invalid."""
    if fields.get("client_id") != CLIENT_ID:
        raise _wrong("client_id", f"is not {CLIENT_ID}")
    if fields.get("response_type") != "code":
        raise _wrong("response_type", "is not code")
    redirect_uri = fields.get("redirect_uri", "")
    matched = _REDIRECT.fullmatch(redirect_uri)
    if matched is None or not FIRST_PORT <= int(matched[1]) <= LAST_PORT:
        raise _wrong("redirect_uri", f"is not http://localhost:PORT/login with a port of {FIRST_PORT} to {LAST_PORT}")
    if fields.get("code_challenge_method") != "S256":
        raise _wrong("code_challenge_method", "is not S256")
    if not _CHALLENGE.fullmatch(fields.get("code_challenge", "")):
        raise _wrong("code_challenge", "is not a SHA-256 in 43 characters of base64url")
    if not 1 <= len(fields.get("state", "")) <= MAX_STATE_LENGTH:
        raise _wrong("state", f"does not have 1 to {MAX_STATE_LENGTH} characters")
    return LoginRequest(redirect_uri, fields["code_challenge"], fields["state"])


@transaction.atomic
def allow(*, request: LoginRequest, actor: Viewer, machine: str, browser: str, address: str) -> str:
    """Create a code for the signed-in person and return it; only its digest is stored.

    `machine` is what they call the computer, `browser` the secret of a cookie, by which the next login from there is
    known. Raises Invalid.
    """
    assert actor.user is not None  # noqa: S101  # the page is for people who are signed in
    machine = " ".join(machine.split())
    if not 1 <= len(machine) <= MAX_MACHINE_LENGTH or not machine.isprintable():
        raise Invalid(
            f"The name of a computer has 1 to {MAX_MACHINE_LENGTH} characters.", hint="Choose one that you recognise."
        )
    code = secrets.token_urlsafe(32)
    row = LoginCode.objects.create(
        digest=_digest(code),
        user=actor.user,
        session=actor.session,
        redirect_uri=request.redirect_uri,
        challenge=request.challenge,
        machine=machine,
        browser=_digest(browser),
        address=address,
        expires_at=timezone.now() + CODE_LIFETIME,
    )
    record(Kind.LOGIN_ALLOWED, actor_id=actor.user_id, subject=f"login/{row.pk}", machine=machine)
    return code


def redeem(fields: Mapping[str, str], *, agent: str, address: str) -> tuple[ApiToken, str]:
    """Exchange a code for a token, and return that with its secret. Raises GrantRefused.

    The first attempt spends the code, whatever comes of it. A second one ends the token: either was a thief's.
    """
    if fields.get("client_id") != CLIENT_ID:
        raise ClientRefused("This client_id differs from the one in the discovery document.")
    with transaction.atomic():
        rows = LoginCode.objects.select_for_update(of=("self",)).select_related("user", "token")
        row = rows.filter(digest=_digest(fields.get("code", ""))).first()
        if row is None:
            raise GrantRefused("This code is unknown.", hint="Log in again.")
        checks = (
            (row.used_at is not None, "was used before; its token was revoked"),
            (row.expires_at <= timezone.now(), "has expired"),
            (fields.get("redirect_uri") != row.redirect_uri, "was given to another redirect_uri"),
            (
                not _proves(fields.get("code_verifier", ""), row.challenge),
                "was given to another client: code_verifier does not match",
            ),
            (not row.user.is_active, "belongs to an account that was deactivated"),
            (not sessions.is_signed_in(row.session, row.user), "was allowed in a session that has ended"),
        )
        reason = next((reason for fails, reason in checks if fails), "")
        if not reason:
            return _token_for(row, agent=agent, address=address)
        LoginCode.objects.filter(pk=row.pk, used_at=None).update(used_at=timezone.now())
        if row.token is not None:
            tokens.revoke(token=row.token, actor=NOBODY)
        record(Kind.LOGIN_REFUSED, actor_id=row.user_id, subject=f"login/{row.pk}", reason=reason)
    raise GrantRefused(f"This code {reason}.", hint="Log in again.")


def machine_of(browser: str, viewer: Viewer) -> str:
    """Return what the person called the computer when they last allowed a login in this browser, or an empty string."""
    rows = LoginCode.objects.filter(user=viewer.user, browser=_digest(browser)) if browser else LoginCode.objects.none()
    return rows.order_by("-pk").values_list("machine", flat=True).first() or ""


def _proves(verifier: str, challenge: str) -> bool:
    """Compare by RFC 7636, section 4.6."""
    if not _VERIFIER.fullmatch(verifier):
        return False
    digest = hashlib.sha256(verifier.encode()).digest()
    return hmac.compare_digest(base64.urlsafe_b64encode(digest).rstrip(b"=").decode(), challenge)


def _token_for(row: LoginCode, *, agent: str, address: str) -> tuple[ApiToken, str]:
    """Issue the token, in place of the one that the same program on the same machine has."""
    program = next((name for product, name in _PROGRAMS.items() if product in agent), "tofu")
    actor = Viewer(row.user)
    # Where the exchange comes from another address than the browser, the client runs on another machine, over SSH
    # perhaps, and has a token of its own.
    machine = _digest(f"{row.browser} {program} {'' if address == row.address else address}")
    for earlier in ApiToken.objects.filter(user=row.user, machine=machine).usable(timezone.now()):
        tokens.revoke(token=earlier, actor=actor)
    token, secret = tokens.issue(
        user=row.user, label=f"{program} login on {row.machine}", scope=SCOPE, actor=actor, kind="l", machine=machine
    )
    LoginCode.objects.filter(pk=row.pk).update(used_at=timezone.now(), token=token)
    return token, secret


def _wrong(parameter: str, found: str) -> Invalid:
    return Invalid(
        f"This login request is invalid: {parameter} {found}.",
        hint="Start again with tofu login or terraform login.",
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
