"""The queues, what they carry, and which of them need a worker now. registry_site/wiring.py fills in the rest."""

from collections.abc import Callable
from fnmatch import fnmatch

SIGN = "sign"
# Each with what its workers are called.
QUEUES = {
    "check": "worker",
    SIGN: "worker that signs",
    "notify": "worker that notifies",
    "upstream": "worker that fetches from other registries and from Git",
}
# The tasks of each queue, by name; all others are of `check`, whose workers have no key-encryption key. What goes out
# to other hosts must not delay a check.
ROUTES = {
    SIGN: ("make-signing-key", "sign-release", "make-signature", "make-statement-key", "state-release"),
    "notify": ("notify.*", "audit.record_head"),
}
# Those of the rooms, which say as well whether a queue of theirs needs a worker now. That is asked at each look at the
# workers: one indexed query each.
of_rooms: tuple[tuple[str, tuple[str, ...]], ...] = ()
_ALWAYS_NEEDED = ("check", SIGN, "notify")
is_needed: tuple[tuple[str, Callable[[], bool]], ...] = ()


def needed() -> dict[str, str]:
    """Return the queues that need a worker now, with what it is called."""
    return {
        name: words
        for name, words in QUEUES.items()
        if name in _ALWAYS_NEEDED or any(is_needed_now() for queue, is_needed_now in is_needed if queue == name)
    }


def queue_of(kind: str) -> str:
    """Return the queue of a task."""
    routes = (*ROUTES.items(), *of_rooms)
    found = (queue for queue, names in routes if any(fnmatch(kind, name) for name in names))
    return next(found, "check")
