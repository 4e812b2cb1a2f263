"""Codes of an authenticator app (TOTP) and recovery codes: allauth's, with their secrets encrypted in the database."""

import base64
import time
from io import BytesIO
from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret, validate_totp_code
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from apps.accounts.access.gate import Viewer, namespaces_with_role
from apps.accounts.identity import sealing, sessions
from apps.accounts.models import Role, User
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import Conflict, Invalid

PURPOSE = "second-factor"  # of the sealed secret of an app, and of the seed of recovery codes
SEALED = tuple(sealing.Column(Authenticator, "data", PURPOSE, key=key) for key in ("secret", "seed"))
_SETTING_UP = "second-factor"


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth ships no types
    def encrypt(self, text: str) -> str:
        return sealing.seal(text, PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        return sealing.unseal(encrypted_text, PURPOSE)

    def build_totp_svg(self, url: str) -> str:
        """Like allauth's, on white: phones do not read it on a dark page."""
        import qrcode
        from qrcode.image.svg import SvgPathFillImage

        image = BytesIO()
        qrcode.make(url, image_factory=SvgPathFillImage).save(image)
        return image.getvalue().decode()

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        host = settings.PUBLIC_HOST
        return {**super().get_public_key_credential_rp_entity(), "name": f"Larder {host}"}

    def get_totp_label(self, user: User) -> str:
        return user.username

    def get_totp_issuer(self) -> str:
        return f"Larder {settings.PUBLIC_HOST}"


def is_on(user: User) -> bool:
    """By an app or a passkey: recovery codes are none of their own."""
    return bool(_factors(user).exists())


def has_app(user: User) -> bool:
    return bool(_factors(user).filter(type=Authenticator.Type.TOTP).exists())


def must_be_shown(request: HttpRequest, user: User) -> bool:
    """Return whether the person has a second factor that was not shown in this session in the last ten minutes.

    Then the session changes no factor (D25): a password, or a session from before, must not be enough to remove what
    protects against a stolen password. A factor that was removed meanwhile does not count.
    """
    factors = set(_factors(user).values_list("pk", flat=True))
    age = time.time() - sessions.second_factor_at(request, user, factors=factors)
    return bool(factors) and age >= sessions.PROOF_LIFETIME.total_seconds()


def was_shown(request: HttpRequest, user: User) -> bool:
    """Return whether a second factor was shown in this session in the last ten minutes: one's own, or at the provider.

    False for people who have none.
    """
    factors = set(_factors(user).values_list("pk", flat=True))
    age = time.time() - sessions.second_factor_at(request, user, factors=factors)
    return age < sessions.PROOF_LIFETIME.total_seconds()


def lock(request: HttpRequest, user: User) -> None:
    """Let one transaction at a time change the person's factors. Raises Conflict if the session must show one first.

    The page has asked, but of what was there then: another browser may have added the first factor since.
    """
    User.objects.select_for_update().get(pk=user.pk)
    if must_be_shown(request, user):
        raise Conflict(
            "Your second factor was not confirmed in this browser in the last ten minutes.",
            hint="Confirm it on the second factor page and try again.",
        )


def check_another(user: User, *, besides: Authenticator) -> None:
    """Raise Conflict if the person must have a second factor and has only this one."""
    if is_required_of(user) and not _factors(user).exclude(pk=besides.pk).exists():
        raise Conflict("This Larder requires a second factor for your account.", hint="Add another one first.")


def _factors(user: User) -> QuerySet[Authenticator]:
    found: QuerySet[Authenticator] = Authenticator.objects.filter(user=user)
    return found.exclude(type=Authenticator.Type.RECOVERY_CODES)


def is_required_of(user: User) -> bool:
    """By LARDER_SECOND_FACTOR."""
    match settings.SECOND_FACTOR:
        case "everyone":
            return True
        case "owners":
            return user.is_staff or namespaces_with_role(Viewer(user), Role.OWNER).exists()
        case "staff":
            return user.is_staff
    return False


def is_missing(request: HttpRequest, user: User) -> bool:
    """Return whether the session lacks a second factor that it must have. Queries only what the session does not
    say.
    """
    return settings.SECOND_FACTOR != "off" and not sessions.has_second_factor(request, user) and is_required_of(user)


def start_app_setup(request: HttpRequest, *, again: bool = False) -> str:
    """Return the secret for the person's app; the same one until it is confirmed, or `again`."""
    adapter = SecondFactorAdapter()
    kept = None if again else request.session.get(_SETTING_UP)
    if kept is None:
        kept = request.session[_SETTING_UP] = adapter.encrypt(generate_totp_secret())
    return adapter.decrypt(kept)


def describe(user: User, secret: str) -> dict[str, str]:
    """Return the secret in groups of four letters, and as a QR code for an <img>."""
    adapter = SecondFactorAdapter()
    picture = adapter.build_totp_svg(adapter.build_totp_url(user, secret)).encode()
    return {
        "secret": " ".join(secret[place : place + 4] for place in range(0, len(secret), 4)),
        "picture": f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}",
    }


@transaction.atomic
def add(*, request: HttpRequest, user: User, digits: str) -> list[str]:
    """Add the app if it shows the right code; return recovery codes, once, if there were none.

    Raises Invalid and Conflict.
    """
    lock(request, user)
    if has_app(user):
        raise Conflict("You have an authenticator app already.", hint="Remove it first.")
    secret = start_app_setup(request)
    if not validate_totp_code(secret, digits):
        raise Invalid("This is not the app's current code.", hint="Check your phone's clock.")
    row = TOTP.activate(user, secret).instance
    del request.session[_SETTING_UP]
    return enable(request, row)


def enable(request: HttpRequest, row: Authenticator, **detail: Any) -> list[str]:
    """Record a new app or passkey, and let it count as shown. Return recovery codes, once, if there were none.

    With the first factor the person's other sessions end: they were begun by the password alone.
    """
    user = row.user
    record(Kind.SECOND_FACTOR_ADDED, actor_id=user.pk, subject=f"user/{user.pk}", **detail)
    if not _factors(user).exclude(pk=row.pk).exists():
        sessions.end_for(user=user, actor=Viewer(user), besides=sessions.digest_of_request(request))
    sessions.record_factor(request, row)
    has_codes = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).exists()
    return [] if has_codes else _new_codes(user)


@transaction.atomic
def renew_codes(*, request: HttpRequest, user: User) -> list[str]:
    """Return new recovery codes, once; the old ones end. Raises Conflict."""
    lock(request, user)
    if not is_on(user):
        raise Conflict("You have no second factor.", hint="Set it up first.")
    record(Kind.RECOVERY_CODES_RENEWED, actor_id=user.pk, subject=f"user/{user.pk}")
    return _new_codes(user)


@transaction.atomic
def remove(*, user: User, actor: Viewer) -> None:
    """Turn it off and end the recovery codes, for who lost it: by an operator. Ignores accounts that have none."""
    if Authenticator.objects.filter(user=user).delete()[0]:
        record(Kind.SECOND_FACTOR_REMOVED, actor_id=actor.user_id, subject=f"user/{user.pk}")


@transaction.atomic
def remove_app(*, request: HttpRequest, user: User) -> None:
    """Remove the authenticator app; with the last factor go the recovery codes. Raises Conflict if one is required."""
    lock(request, user)
    row = Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).first()
    if row is not None:
        check_another(user, besides=row)
        row.delete()
        end_codes_without_factor(user)
        record(Kind.SECOND_FACTOR_REMOVED, actor_id=user.pk, subject=f"user/{user.pk}")


def end_codes_without_factor(user: User) -> None:
    if not is_on(user):
        Authenticator.objects.filter(user=user).delete()


def codes_left(user: User) -> int:
    row = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).first()
    return len(row.wrap().get_unused_codes()) if row else 0


def _new_codes(user: User) -> list[str]:
    Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).delete()
    codes: list[str] = RecoveryCodes.activate(user).generate_codes()
    return codes
