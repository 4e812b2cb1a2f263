"""Let a request wait for a worker without a thread: the view says for what, and the server calls it again later.

They exchange that in the request's environ; see registry_site/server/waiting.py.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from apps.releases.models import READY, Release

OFFERED = "larder.can_wait"  # by a server that can wait
ASKED = "larder.waiting"  # by a view: a `Waiting`


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """Waits while the release is in one of `states`, at most `until` (time.monotonic()).

    `resume` is what the view needs when it is called again.
    """

    release: int
    states: Collection[str]
    until: float
    resume: Any


def quiet_states(release: Release) -> Collection[str]:
    """Return the states in which the request keeps waiting: steps between a worker's states do not end it."""
    return READY if release.state in READY else (release.state,)


def with_news(waiting: Iterable[Waiting]) -> list[Waiting]:
    """Return those whose release has changed its state, in one query."""
    asked = list(waiting)
    states = dict(Release.objects.filter(pk__in={one.release for one in asked}).values_list("pk", "state"))
    return [one for one in asked if states.get(one.release) not in one.states]
