"""The requests to a key service, which a room speaks with: wrap a data key, unwrap it, both bound to a context.

Unwrapped data keys stay in this process's memory for some minutes, never anywhere else.
"""

import threading
import time
from collections.abc import Mapping
from typing import Protocol

from apps.lib.errors import Unavailable

# An outage shorter than this is not noticed by keys in use; a service that withdraws its key stops Larder within it.
CACHE_SECONDS = 300
# Each costs half a kilobyte.
CACHE_SIZE = 1000

Context = Mapping[str, str]


class SignerUnavailable(Unavailable):
    """This process cannot open the private keys; another can, or this one later."""

    code = "signer_unavailable"


class KeyServiceAway(SignerUnavailable):
    """The key service did not do it: it is away or slow, or refuses this host."""


class NotUnwrapped(Exception):
    """The service says that it has not wrapped this, or not for this context."""


class KeyService(Protocol):
    """`wrap` and `unwrap` end within seconds. Both raise KeyServiceAway, `unwrap` also NotUnwrapped."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def title(self) -> str: ...
    def wrap(self, data_key: bytes, context: Context) -> bytes: ...
    def unwrap(self, wrapped: bytes, context: Context) -> bytes: ...


_unwrapped: dict[tuple[str, bytes, tuple[tuple[str, str], ...]], tuple[float, bytes]] = {}
_guard = threading.Lock()


def unwrap(service: KeyService, wrapped: bytes, context: Context) -> bytes:
    """Return the data key, from memory if it was unwrapped lately. Raises KeyServiceAway and NotUnwrapped."""
    if not wrapped:
        raise NotUnwrapped  # services call it a mistake in the request, for which a release would wait
    # With the context: what was unwrapped for one key is not there for another.
    asked = (service.id, wrapped, tuple(sorted(context.items())))
    now = time.monotonic()
    with _guard:
        ends_at, data_key = _unwrapped.get(asked, (0.0, b""))
    if now < ends_at:
        return data_key
    data_key = service.unwrap(wrapped, context)
    with _guard:
        for old in [one for one, (ends_at, _) in _unwrapped.items() if ends_at <= now]:
            del _unwrapped[old]
        while len(_unwrapped) >= CACHE_SIZE:
            del _unwrapped[next(iter(_unwrapped))]
        _unwrapped[asked] = (now + CACHE_SECONDS, data_key)
    return data_key


def forget() -> None:
    """Drop every data key from memory."""
    with _guard:
        _unwrapped.clear()
