"""Why an id token is not exchanged. Each refusal names the claim."""

from typing import Any

from apps.lib.errors import RoleRequired

LONGEST_VALUE = 200


class ExchangeRefused(RoleRequired):
    """`claim` is what it fails on, or a part of the token's header."""

    code = "exchange_refused"

    def __init__(self, claim: str, message: str, *, hint: str = "") -> None:
        super().__init__(f"The id token was refused for its claim {claim}: {message}", hint=hint)
        self.claim = claim


class SignatureRefused(ExchangeRefused):
    """Nothing in the token is known to be true."""

    code = "exchange_refused"


def shown(value: Any) -> str:
    """A claim for a message: short, and without signs that cannot be printed."""
    text = value if isinstance(value, str) else repr(value)
    return "".join(sign if sign.isprintable() else "?" for sign in text[:LONGEST_VALUE])
