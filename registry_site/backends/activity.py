"""The activity of this worker's loop, counted for its watchdog (registry_site/server/watchdog.py)."""

from dataclasses import dataclass


@dataclass(slots=True)
class Activity:
    """The thread of the loop counts, and others compare: a number that is the same says that nothing happened."""

    rounds: int = 0  # of the loop, those included in which it waits for the broker
    listens: int = 0  # rounds in which the broker owed it an answer to "give me work"
    taken: int = 0  # messages


# A worker has one loop; other connections of its process only send.
of_this_worker = Activity()
