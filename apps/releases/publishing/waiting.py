"""A request that waits until a worker has decided, without a thread: its view says for what, and the server calls the
view again (registry_site/server/waiting.py). Both meet in the environ of the request.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from apps.releases.models import READY, Release

OFFERED = "larder.can_wait"  # by a server that can wait
ASKED = "larder.waiting"  # by a view: a `Waiting`


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """`states`: while the release is in one of them there is no news. `until`: by time.monotonic().

    `resume` is the view's own: what it needs when it is called again.
    """

    release: int
    states: Collection[str]
    until: float
    resume: Any


def quiet_states(release: Release) -> Collection[str]:
    """A worker's steps are no news; whatever else happens is."""
    return READY if release.state in READY else (release.state,)


def with_news(waiting: Iterable[Waiting]) -> list[Waiting]:
    """Those for which something has changed, in one query."""
    asked = list(waiting)
    states = dict(Release.objects.filter(pk__in={one.release for one in asked}).values_list("pk", "state"))
    return [one for one in asked if states.get(one.release) not in one.states]
