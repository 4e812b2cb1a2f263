"""Forms with the answer of a passkey. They import fido2, so views load them late."""

from typing import Any

from allauth.core import context
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import AuthenticateWebAuthnForm
from django import forms

from apps.accounts.identity import passkeys, sign_ins

_REFUSED = "This passkey was not accepted. Try again, or use another method."


class PasskeyForm(AuthenticateWebAuthnForm):  # type: ignore[misc]  # allauth ships no types
    """allauth's form; whatever is no answer of a passkey is refused, counted and recorded."""

    def clean_credential(self) -> Authenticator:
        try:
            authenticator: Authenticator = self.checked()
        except (forms.ValidationError, *passkeys.HOSTILE):
            sign_ins.count_refused_passkey(context.request, self.user)
            self.record_failure()
            raise forms.ValidationError(_REFUSED) from None
        return authenticator

    def checked(self) -> Any:
        return super().clean_credential()

    def record_failure(self) -> None:
        if self.user is not None:
            sign_ins.record_failed_second_factor(request=context.request, user=self.user)


class PasskeySignInForm(PasskeyForm):
    """Signs in without a password, by a passkey that has asked for a PIN or a finger."""

    passwordless = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, user=None, **kwargs)

    def checked(self) -> Any:
        # The challenge of another page does not require it.
        is_verified = passkeys.is_user_verified(self.cleaned_data["credential"])
        authenticator = super().checked()
        if not (is_verified and authenticator.user.is_active and sign_ins.password_counts(authenticator.user)):
            raise forms.ValidationError(_REFUSED)
        return authenticator
