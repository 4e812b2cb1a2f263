"""Git servers of other registries' modules that failed a moment ago: no job waits for them again at once.

Each version of a module may be in another place. One that hangs would otherwise take a thread of the worker for
minutes, again for each version that is there, while versions and modules elsewhere wait.
"""

import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.remote.remotes import Remote
from apps.lib.net.fetching import origin_of

PAUSE_SECONDS = 120.0
# Of the whole server; a listing that takes too long says the same.
_OF_SERVER = frozenset({"unreachable", "unresolved"})
_OF_REPOSITORY = frozenset({"too_slow", "truncated", "server_error", "too_many_requests", "tls_failed"})
_MAX_REMEMBERED = 1000


class LocationFailed(GitFailed):
    """The place of one version failed, which says nothing of the registry and its other versions.

    `was_asked`: False if it failed a moment ago, and was not asked again.
    """

    def __init__(self, failed: Exception, code: str, *, hint: str, is_final: bool, was_asked: bool = True) -> None:
        super().__init__(code, str(failed), hint=hint, is_final=is_final)
        self.was_asked = was_asked


_failed: dict[Hashable, tuple[float, GitFailed]] = {}  # until when, and how


@contextmanager
def asking(remote: Remote, *, is_listing: bool = False) -> Iterator[None]:
    """Around what asks the server. Raises LocationFailed for each GitFailed, and at once if it failed a moment ago."""
    server, repository = origin_of(remote.parts), remote.url
    for key in (server, repository):
        until, known = _failed.get(key, (0.0, None))
        if known is not None and time.monotonic() < until:
            hint = f"Larder tries that server again within {PAUSE_SECONDS / 60:.0f} minutes."
            raise LocationFailed(known, known.code, hint=hint, is_final=False, was_asked=False)
    try:
        yield
    except GitFailed as failed:
        if failed.code in _OF_SERVER or (failed.code == "too_slow" and is_listing):
            _remember(server, failed)
        elif failed.code in _OF_REPOSITORY:
            _remember(repository, failed)
        raise LocationFailed(failed, failed.code, hint=failed.hint, is_final=failed.is_final) from failed


def _remember(key: Hashable, failed: GitFailed) -> None:
    now = time.monotonic()
    for old in [one for one, (until, _) in list(_failed.items()) if until <= now]:
        _failed.pop(old, None)
    if len(_failed) < _MAX_REMEMBERED:
        _failed[key] = now + PAUSE_SECONDS, failed


def forget() -> None:
    """For tests: as a process that has just begun."""
    _failed.clear()
