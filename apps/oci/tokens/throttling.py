"""Limit wrong passwords at the token service, counted by address and minute in the cache.

Right ones are never counted: a burst of 130 is one run of the conformance suite, or one busy CI.
"""

import hashlib
import time

from django.core.cache import cache

from apps.lib.errors import RegistryError

MAX_WRONG_PASSWORDS = 30
WINDOW_SECONDS = 60


class TooManyAttempts(RegistryError):
    """Only for wrong passwords: clients give up at the first 429."""

    code = "too_many_attempts"


def count_wrong_password(address: str) -> None:
    """Raises TooManyAttempts beyond MAX_WRONG_PASSWORDS in a minute."""
    # The minute is part of the key, because not every cache keeps the expiry of a key that it increments.
    key = f"oci-wrong-{int(time.time()) // WINDOW_SECONDS}-{hashlib.sha256(address.encode()).hexdigest()}"
    cache.add(key, 0, WINDOW_SECONDS * 2)
    try:
        count = cache.incr(key)
    except ValueError:  # a full cache has dropped it between the two
        return
    if count > MAX_WRONG_PASSWORDS:
        raise TooManyAttempts(
            f"More than {MAX_WRONG_PASSWORDS} wrong passwords came from your address within a minute.",
            hint="Send an API token as the password, with any user name.",
        )
