"""Which queues there are, and which of them need a worker now. registry_site/wiring.py fills in `is_needed`."""

from collections.abc import Callable

# Each with what its workers are called.
QUEUES = {
    "check": "worker",
    "sign": "worker that signs",
    "notify": "worker that notifies",
    "upstream": "worker that fetches from other registries and from Git",
}
# A queue without an entry always needs a worker. Asked at each look at the workers: one indexed query at most.
is_needed: dict[str, Callable[[], bool]] = {}


def needed() -> dict[str, str]:
    """Return the queues that need a worker now, with what it is called."""
    return {name: words for name, words in QUEUES.items() if name not in is_needed or is_needed[name]()}
