"""The mark of a view on an answer that the front may repeat (D16): on the response object, never in a header."""

from collections.abc import Collection
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from django.http.response import HttpResponseBase

# However an answer came to be, it is asked for again after so many seconds: rows may change behind the verbs, and
# the use of a token is recorded by Django alone (accounts.identity.token_usage).
LONGEST = 60.0
# While the database is away, what was answered earlier than so many seconds ago is not repeated either.
KEPT = 3600.0
# In the environ of a question for a blob while the database is away: its SHA-256, which a manifest has named that the
# same asker was answered.
OPENED_BLOB = "larder.opened_blob"
_NAME = "larder_ready"


class Download(NamedTuple):
    """The release, and the account and the token that read it."""

    release_id: int
    user_id: int | None
    token_id: int | None


class SourceToken(NamedTuple):
    """An API token that a short-lived one was issued for: the digest of its secret, and its number."""

    digest: str
    number: int


@dataclass(frozen=True, slots=True)
class Ready:
    """An answer that is valid for equal requests, with the same credentials, until a change of these scopes
    (apps/audit/generation.py), and for so many seconds from the arrival of the request. Each time it counts as the
    download, if it is one. `readers` is the canonical name of a namespace, all of whose readers get the same answer.

    The rest is for an outage of the database: for how long the answer stays true and its links open, for how long the
    credentials are valid, who may read the namespace of `readers`, and which token may be issued again.
    """

    scopes: Collection[str]
    seconds: float
    download: Download | None = None
    readers: str = ""
    true_for: float = 0.0
    credentials_for: float = inf
    visibility: str = ""
    source_token: SourceToken | None = None


def mark(response: HttpResponseBase, ready: Ready) -> None:
    setattr(response, _NAME, ready)


def ready_of(response: Any) -> Ready | None:
    return getattr(response, _NAME, None)
