"""Rate limits (settings.RATES), counted in the cache: by account, by address, or by both.

Time is cut into windows, and the window is part of the key: an atomic increment is all that processes and hosts need.
What clients do during `init` is never counted. If a count cannot be stored, the attempt is allowed.

What proves itself (a token, a signature, a passkey) is verified first, and refusals alone are counted: one stranger
must not stop others behind the same address. What can be guessed (a password, a code) is counted before it is looked
at, and given back if it was right.
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, InterfaceError

from apps.lib.errors import TooManyAttempts
from apps.lib.net.forwarding import network_of
from apps.lib.process import metrics
from apps.lib.settings_values.rates import span

# What the limits of each group count, in words for people.
COUNTED = {
    "sign_in": "wrong passwords",
    "second_factor": "wrong codes for this account",
    "tokens": "wrong tokens from your address",
    "invitations": "invitations",
    "search": "searches",
    "publish": "uploads with this account",
    "export": "exports of the audit",
    "fetch": "providers and packages that Larder had to fetch for your address",
}

log = structlog.get_logger("larder.accounts")


@dataclass(frozen=True, slots=True)
class Limit:
    """The rate of a group for one subject; `times` more for a subject that many people share."""

    group: str
    subject: str
    times: int = 1


class Attempt:
    """The counters of one attempt, to be given back if the attempt was right."""

    def __init__(self) -> None:
        self._keys: list[str] = []

    def count(self, limit: Limit, *, unless: Callable[[], bool] = lambda: False) -> None:
        """Raises TooManyAttempts beyond the limit, `unless` that says otherwise; a refused attempt counts nowhere."""
        rate = settings.RATES[limit.group]
        if rate is None:
            return
        now, most = time.time(), rate.amount * limit.times
        window = int(now // rate.seconds)
        key = f"larder-rate-{limit.group}-{window}-{hashlib.sha256(limit.subject.encode()).hexdigest()}"
        if _increment(key, rate.seconds) <= most:
            self._keys.append(key)
            return
        if unless():
            return
        self.give_back()
        metrics.rate_limit_refusals.labels(limit.group).inc()
        wait = (window + 1) * rate.seconds - now
        raise TooManyAttempts(
            f"More than {most} {COUNTED[limit.group]} within {span(rate.seconds)}.",
            hint=f"Try again in {span(wait)}.",
            wait=wait,
        )

    def give_back(self) -> None:
        for key in self._keys:
            _add(key, -1)
        self._keys = []


def count(*limits: Limit) -> Attempt:
    """Count an attempt against each limit, the first one first. Raises TooManyAttempts."""
    attempt = Attempt()
    for limit in limits:
        attempt.count(limit)
    return attempt


def by_address(group: str, address: str, *, times: int = 1) -> Limit:
    return Limit(group, f"address {network_of(address)}", times)


def by_account(group: str, number: int | None, address: str) -> Limit:
    """Limit by the account, or by the address of a request that is not signed in, or has an account that all share."""
    if number is None or (address and settings.DEMO == "on"):
        return by_address(group, address)
    return Limit(group, f"account {number}")


def _increment(key: str, seconds: int) -> int:
    found = _add(key, 1)
    if found is not None:
        return found
    try:
        # Longer than the window lasts on any host, whose clocks differ.
        if cache.add(key, 1, 2 * seconds + 60):
            return 1
    except (DatabaseError, InterfaceError):
        return 0  # `_add` has said so
    return _add(key, 1) or 0


def _add(key: str, delta: int) -> int | None:
    """Return the new count; None if nothing was counted yet, or the cache has lost it."""
    try:
        return int(cache.incr(key, delta))
    except ValueError:
        return None
    except (DatabaseError, InterfaceError) as error:
        log.warning("rate_limit_not_counted", error=type(error).__name__)
        return None
