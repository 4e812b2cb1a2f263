"""Whose passwords count: LARDER_LOCAL_SIGN_IN."""

from django.conf import settings

from apps.accounts.models import User


def count_for(user: User) -> bool:
    return bool(settings.LOCAL_SIGN_IN == "on" or (settings.LOCAL_SIGN_IN == "staff" and user.is_staff))


def has_one(user: User) -> bool:
    """Tell whether the person can sign in with a password."""
    return user.has_usable_password() and count_for(user)
