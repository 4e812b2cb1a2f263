"""API tokens (D13). The secret is shown once; only its SHA-256 is stored."""

import hashlib
import re
import secrets
import string
import zlib
from collections.abc import Iterable, Mapping
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import CharField, F, Q, QuerySet
from django.utils import timezone

from apps.accounts.access import epoch
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.access.people_only import refuse_token
from apps.accounts.models import ApiToken, Namespace, Scope, User
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.jobs.compiled_queries import CompiledQuery, Slot
from apps.lib.errors import Conflict, CredentialsRequired, Invalid, existing
from apps.lib.text.redaction import redact

# For secret scanners. After the second underscore: 36 random characters, then the check value of all before it.
# Kinds: u person, s service, c CI run, l `tofu login`.
TOKEN_PATTERN = r"\blrd_[uscl]_[0-9A-Za-z]{42}\b"  # noqa: S105
SERVICE_TOKENS = 2
MAX_LEAK_URL_LENGTH = 300
LONGEST_LIFETIME = timedelta(days=365)
# `created_at` is written a moment after `expires_at` was computed, by a clock that may have been set back.
_CLOCK_STEP = timedelta(minutes=5)

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SHAPE = re.compile(TOKEN_PATTERN, re.ASCII)
_RANDOM_LENGTH = 36
_CHECK_LENGTH = 6
_START_LENGTH = len("lrd_u_") + 4
_BY_DIGEST = CompiledQuery(lambda: ApiToken.objects.select_related("user").filter(digest=Slot("digest", CharField())))
_ONLY_NAME = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*(?:/[a-z0-9]+)?", re.ASCII)


class TokenRefused(CredentialsRequired):
    """The token is not accepted. The text says why, unless the token is unknown."""


def is_well_formed(secret: str) -> bool:
    """Check shape and check value, so that other text is refused without a query."""
    if not _SHAPE.fullmatch(secret):
        return False
    return check_value(secret[:-_CHECK_LENGTH]) == secret[-_CHECK_LENGTH:]


def check_value(text: str) -> str:
    """CRC32 in six base-62 digits, padded with zeros (62^6 is more than 2^32)."""
    value = zlib.crc32(text.encode())
    digits = []
    for _ in range(_CHECK_LENGTH):
        value, digit = divmod(value, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


def new_secret(kind: str = "u") -> str:
    body = f"lrd_{kind}_" + "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_LENGTH))
    return body + check_value(body)


def issue(
    *,
    user: User,
    label: str,
    scope: str,
    actor: Viewer,
    namespaces: Iterable[Namespace] = (),
    only_name: str = "",
    lifetime: timedelta | None = None,
    kind: str = "",
    machine: str = "",
) -> tuple[ApiToken, str]:
    """Create a token; answers it with its secret, which exists nowhere else.

    For a person's token of scope manage a page asks for a fresh confirmation first. A token is none, so none creates
    one of scope manage: what a token creates cannot create more. Raises Invalid, Conflict or RoleRequired.
    """
    limited_to = list(namespaces)
    lifetime = default_lifetime(user, scope) if lifetime is None else lifetime
    _check(label, scope, only_name, lifetime)
    if scope == Scope.MANAGE:
        hint = "Choose the scope read or publish, or sign in and create it on the page."
        refuse_token(actor, "create a token of scope manage", subject=f"user/{user.pk}", hint=hint)
    secret = new_secret(kind or ("s" if user.is_service else "u"))
    with transaction.atomic():
        if user.is_service:
            _require_room(user, scope)
        token = ApiToken.objects.create(
            user=user,
            machine=machine,
            label=label.strip(),
            start=secret[:_START_LENGTH],
            digest=digest_of(secret),
            scope=Scope(scope),
            is_limited=bool(limited_to),
            only_name=only_name,
            manages_people=not user.is_service,
            expires_at=timezone.now() + lifetime,
            created_by_token=actor.token,
            made_by=actor.user,
        )
        token.namespaces.set(limited_to)
        actor.record(
            Kind.TOKEN_ISSUED,
            subject=f"token/{token.pk}",
            user=user.pk,
            scope=scope,
            namespaces=sorted(namespace.name for namespace in limited_to),
            only_name=only_name,
            expires_at=token.expires_at.isoformat(),
        )
    return token, secret


@transaction.atomic
def issue_to_run(
    *, user: User, label: str, namespace: Namespace, only_name: str, lifetime: timedelta
) -> tuple[ApiToken, str]:
    """Issue a token, like `issue`, to a run of a trusted publisher: it publishes in one namespace, perhaps one name of
    it.

    Runs are many, and end by themselves, so they are not counted as those of other machines are.
    """
    secret = new_secret("c")
    token = ApiToken.objects.create(
        user=user,
        label=label,
        start=secret[:_START_LENGTH],
        digest=digest_of(secret),
        scope=Scope.PUBLISH,
        is_limited=True,
        only_name=only_name,
        manages_people=False,
        expires_at=timezone.now() + lifetime,
    )
    token.namespaces.set([namespace])
    Viewer(user, token).record(
        Kind.TOKEN_ISSUED,
        subject=f"token/{token.pk}",
        user=user.pk,
        scope=Scope.PUBLISH.value,
        namespaces=[namespace.name],
        only_name=only_name,
        expires_at=token.expires_at.isoformat(),
    )
    return token, secret


def rotate(*, token: ApiToken, actor: Viewer, lifetime: timedelta | None = None) -> tuple[ApiToken, str]:
    """Create the next token of a service account, with the label and limits of this one, which stays valid.

    Raises Conflict if this one has ended, or two are valid already; and what `issue` raises, for the rules of today
    bind the next one.
    """
    if not token.is_usable:
        raise Conflict(f"The token {token} has expired or was revoked.", hint="Create another.")
    namespaces = list(token.namespaces.order_by("pk"))
    if token.is_limited and not namespaces:  # without a list the next one would open all of them
        raise Conflict(f"The namespaces of the token {token} were deleted.", hint="Create another.")
    limits = {"label": token.label, "scope": token.scope, "only_name": token.only_name}
    return issue(user=token.user, **limits, namespaces=namespaces, lifetime=lifetime, actor=actor)


@transaction.atomic
def revoke(*, token: ApiToken, actor: Viewer) -> None:
    """End a token at once. Repeating it changes nothing."""
    now = timezone.now()
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now) != 1:
        return
    token.revoked_at = now
    epoch.advance()
    actor.record(Kind.TOKEN_REVOKED, subject=f"token/{token.pk}", user=token.user_id)


@transaction.atomic
def revoke_all(*, user: User, actor: Viewer) -> int:
    """Revoke all tokens of the account that have not ended; return how many."""
    open_ones = list(ApiToken.objects.filter(user=user, revoked_at=None, expires_at__gt=timezone.now()).order_by("pk"))
    for token in open_ones:
        revoke(token=token, actor=actor)
    return len(open_ones)


@transaction.atomic
def accept_suspended() -> int:
    """Accept all suspended tokens again, including those revoked after the backup; return how many."""
    accepted = ApiToken.objects.filter(suspended_at__isnull=False).update(suspended_at=None)
    record(Kind.DATABASE_RESTORED, actor_id=None, subject="database", accepted_tokens=accepted)
    return accepted


@transaction.atomic
def revoke_suspended() -> int:
    """Revoke all suspended tokens; return how many."""
    suspended = list(ApiToken.objects.filter(suspended_at__isnull=False, revoked_at=None).order_by("pk"))
    for token in suspended:
        revoke(token=token, actor=NOBODY)
    return len(suspended)


def identify(secret: str) -> ApiToken:
    """Return the usable token of a secret, with its user, in one query. Raises TokenRefused."""
    # By the digest's unique index, so that no comparison of secrets can leak by its timing.
    found = _BY_DIGEST(digest=digest_of(secret)) if is_well_formed(secret) else []
    if not found:
        raise TokenRefused("This API token is unknown.", hint="Check that you copied all of it, or create another.")
    token = found[0]
    if token.revoked_at is not None or not token.user.is_active:
        raise TokenRefused("This API token was revoked.", hint="Create another on the tokens page.")
    if token.suspended_at is not None:
        raise TokenRefused(
            "This API token was created before the database was restored. It is suspended until an operator decides.",
            hint="Create another on the tokens page, or ask an operator.",
        )
    if not token.is_usable:
        raise TokenRefused(
            f"This API token expired on {token.expires_at:%Y-%m-%d %H:%M} UTC.",
            hint="Create another on the tokens page.",
        )
    return token


def token_of(user: User, number: int) -> ApiToken:
    """Return the token of the person or service account, whether it has ended or not. Raises NotFound."""
    token = ApiToken.objects.select_related("user").filter(user=user, pk=number).first()
    return existing(token, f"{user} has no such token.", hint="See the list of tokens.")


def token_with_id(number: int) -> ApiToken | None:
    """Return the usable token with that id, with its user, or None."""
    token = ApiToken.objects.select_related("user").filter(pk=number).first()
    return token if token is not None and token.is_usable and token.user.is_active else None


def by_earlier_rules() -> QuerySet[ApiToken]:
    """Return valid tokens with more rights or a longer life than new ones may have; they keep both until they end."""
    by_machine = Q(user__is_service=True) & (Q(manages_people=True) | Q(user__may_manage=False))
    too_long = Q(expires_at__gt=F("created_at") + settings.MANAGE_TOKEN_MAX_LIFETIME + _CLOCK_STEP)
    return ApiToken.objects.usable(timezone.now()).filter(by_machine | too_long, scope=Scope.MANAGE)


def default_lifetime(user: User, scope: str) -> timedelta:
    if scope != Scope.MANAGE:
        return settings.TOKEN_LIFETIME
    if user.is_service:
        return min(settings.TOKEN_LIFETIME, settings.MANAGE_TOKEN_MAX_LIFETIME)
    return settings.MANAGE_TOKEN_LIFETIME


def _require_room(account: User, scope: str) -> None:
    """A service account has two usable tokens at most: the one in use, and the next one while it is rolled out.

    And tokens of scope manage only while its team's manager allows them; both under the lock of its row.
    """
    row = User.objects.select_for_update().get(pk=account.pk)
    if scope == Scope.MANAGE and not row.may_manage:
        raise Conflict(
            f"{account} is not allowed to have tokens of scope manage.",
            hint="Choose read or publish; or a manager of its team allows it on the account's page.",
        )
    if ApiToken.objects.filter(user=account).usable(timezone.now()).count() >= SERVICE_TOKENS:
        raise Conflict(f"{account} has {SERVICE_TOKENS} valid tokens, the maximum.", hint="Revoke the older one first.")


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def check_only_name(only_name: str) -> None:
    """Raises Invalid. Empty is every name."""
    if only_name and (len(only_name) > 130 or not _ONLY_NAME.fullmatch(only_name)):  # noqa: PLR2004
        raise Invalid(f"{only_name!r} is not a name in a namespace.", hint="Write name/system, such as vpc/aws.")


def _check(label: str, scope: str, only_name: str, lifetime: timedelta) -> None:
    if not 1 <= len(label.strip()) <= 80:  # noqa: PLR2004  # the column's width
        raise Invalid(
            "A token needs a label of 1 to 80 characters.", hint="Describe its purpose, for example: CI of vpc."
        )
    if scope not in Scope.values:
        raise Invalid(f"There is no scope {scope!r}.", hint=f"Scopes are {', '.join(Scope.values)}.")
    check_only_name(only_name)
    longest = settings.MANAGE_TOKEN_MAX_LIFETIME if scope == Scope.MANAGE else LONGEST_LIFETIME
    if not timedelta(0) < lifetime <= longest:
        raise Invalid(
            f"A token of scope {scope} is valid for 1 to {longest.days} days, not {lifetime.days}.",
            hint="Choose fewer days, and renew it before it expires.",
        )


def report_leaks(found: Mapping[str, str]) -> set[str]:
    """Revoke those texts that are tokens, by {text: where it was found}; return them. One query for all others.

    To know a token is the proof that it leaked, so anyone who has it may end it. Tokens that ended before are tokens
    too: their owner learns that they leaked.
    """
    digests = {digest_of(text): text for text in found if is_well_formed(text)}
    rows = list(ApiToken.objects.filter(digest__in=digests).order_by("pk")) if digests else []
    for token in rows:
        url = redact(found[digests[token.digest]])[:MAX_LEAK_URL_LENGTH]
        with transaction.atomic():
            unreported = ApiToken.objects.filter(pk=token.pk, leaked_at=None)
            if unreported.update(leaked_at=timezone.now(), leaked_url=url):  # the first report counts
                revoke(token=token, actor=NOBODY)
                record(Kind.TOKEN_LEAKED, actor_id=None, subject=f"token/{token.pk}", user=token.user_id, url=url)
    return {digests[token.digest] for token in rows}
