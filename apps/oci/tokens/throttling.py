"""Wrong passwords at the token service, counted by address and minute in the cache, which forgets by itself.

Right ones are never counted: a burst of 130 is one run of the conformance suite, or one busy CI.
"""

import hashlib
import time

from django.core.cache import cache

from apps.lib.errors import RegistryError

MOST = 30
WINDOW = 60


class TooManyAttempts(RegistryError):
    """For wrong passwords alone: clients end at the first 429, so nothing honest is ever told this."""

    code = "too_many_attempts"


def note_wrong(address: str) -> None:
    """Count one of this client. Raises TooManyAttempts beyond MOST in a minute."""
    # The minute is part of the key, because not every cache keeps a key's end when it counts it up.
    key = f"oci-wrong-{int(time.time()) // WINDOW}-{hashlib.sha256(address.encode()).hexdigest()}"
    cache.add(key, 0, WINDOW * 2)
    try:
        count = cache.incr(key)
    except ValueError:  # a full cache has dropped it between the two
        return
    if count > MOST:
        raise TooManyAttempts(
            f"More than {MOST} wrong passwords came from your address within a minute.",
            hint="Send an API token as the password, with any user name.",
        )
