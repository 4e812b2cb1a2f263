"""Rates: how often something may happen. `5/5m` is five times in five minutes."""

import re
from dataclasses import dataclass
from typing import Self

from apps.lib.errors import Invalid

# By the groups of apps/accounts/access/throttling.py.
DEFAULT_RATES = {
    "sign_in": "5/5m",
    "second_factor": "5/5m",
    "tokens": "30/m",
    "invitations": "30/m",
    "search": "300/10s",
    "publish": "500/10s",
    "export": "10/m",
    "fetch": "600/m",
}
_UNITS = {"s": (1, "second"), "m": (60, "minute"), "h": (3600, "hour")}
_FORM = re.compile(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,3})?([smh])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rate:
    amount: int
    seconds: int

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read `30/m`, `5/5m`, `500/10s`; None for `off`. Raises Invalid."""
        if text == "off":
            return None
        found = _FORM.fullmatch(text)
        if found is None:
            raise Invalid(f"{text!r} is not a rate.", hint="Write 30/m, 5/5m, 500/10s, or off.")
        return cls(int(found[1]), int(found[2] or 1) * _UNITS[found[3]][0])


def variable_of(group: str) -> str:
    """Return what sets the group's rate."""
    return f"{group} of LARDER_RATES"


def span(seconds: float) -> str:
    """Say a time in words, rounded up: `10 seconds`, `5 minutes`."""
    length, unit = next(found for found in reversed(_UNITS.values()) if seconds >= found[0] or found[0] == 1)
    count = max(1, -int(-seconds // length))
    return f"{count} {unit}{'' if count == 1 else 's'}"
