"""The mark of a view on an answer that the front may repeat (D16): on the response object, never in a header."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from django.http.response import HttpResponseBase

# However an answer came to be, it is asked for again after so many seconds: rows may change behind the verbs, and
# the use of a token is recorded by Django alone (accounts.identity.token_usage).
LONGEST = 60.0
_NAME = "larder_ready"


@dataclass(frozen=True, slots=True)
class Ready:
    """The answer holds for whoever asks exactly the same, with the same credentials, until a change of these scopes
    (apps/audit/generation.py), and for so many seconds from the arrival of the request. Each time, `noted` gets the
    User-Agent.
    """

    scopes: Collection[str]
    seconds: float
    noted: Callable[[str], object] | None = None


def mark(response: HttpResponseBase, ready: Ready) -> None:
    setattr(response, _NAME, ready)


def ready_of(response: Any) -> Ready | None:
    return getattr(response, _NAME, None)
