"""Codes of an authenticator app (TOTP) and recovery codes: allauth's, with their secrets encrypted in the database."""

import base64
import hashlib
from io import BytesIO

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret, validate_totp_code
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import Conflict, Invalid

_SETTING_UP = "second-factor"


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth ships no types
    def encrypt(self, text: str) -> str:
        return _cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        return _cipher().decrypt(encrypted_text.encode()).decode()

    def build_totp_svg(self, url: str) -> str:
        """Like allauth's, on white: phones do not read it on a dark page."""
        import qrcode
        from qrcode.image.svg import SvgPathFillImage

        image = BytesIO()
        qrcode.make(url, image_factory=SvgPathFillImage).save(image)
        return image.getvalue().decode()

    def get_totp_label(self, user: User) -> str:
        return user.username

    def get_totp_issuer(self) -> str:
        return f"Larder {settings.PUBLIC_HOST}"


def is_on(user: User) -> bool:
    return bool(Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists())


def begin(request: HttpRequest, *, again: bool = False) -> str:
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
    """Turn it on if the app shows the right code; return the recovery codes, once. Raises Invalid and Conflict."""
    User.objects.select_for_update().get(pk=user.pk)
    if is_on(user):
        raise Conflict("You have a second factor already.", hint="Turn it off first.")
    secret = begin(request)
    if not validate_totp_code(secret, digits):
        raise Invalid("This is not the code that the app shows now.", hint="Check the clock of your phone.")
    TOTP.activate(user, secret)
    del request.session[_SETTING_UP]
    record(Kind.SECOND_FACTOR_ADDED, actor_id=user.pk, subject=f"user/{user.pk}")
    return _new_codes(user)


@transaction.atomic
def renew_codes(*, user: User) -> list[str]:
    """Return new recovery codes, once; the old ones end. Raises Conflict."""
    User.objects.select_for_update().get(pk=user.pk)
    if not is_on(user):
        raise Conflict("You have no second factor.", hint="Set it up first.")
    record(Kind.RECOVERY_CODES_RENEWED, actor_id=user.pk, subject=f"user/{user.pk}")
    return _new_codes(user)


@transaction.atomic
def remove(*, user: User, actor: Viewer) -> None:
    """Turn it off and end the recovery codes. Ignores accounts that have none."""
    if Authenticator.objects.filter(user=user).delete()[0]:
        record(Kind.SECOND_FACTOR_REMOVED, actor_id=actor.user_id, subject=f"user/{user.pk}")


def codes_left(user: User) -> int:
    row = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).first()
    return len(row.wrap().get_unused_codes()) if row else 0


def _new_codes(user: User) -> list[str]:
    Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).delete()
    codes: list[str] = RecoveryCodes.activate(user).generate_codes()
    return codes


def _cipher() -> MultiFernet:
    """Under keys from the secret key, so that a dump of the database alone signs nobody in."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = (hashlib.sha256(b"larder.second-factor" + key.encode()).digest() for key in keys)
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
