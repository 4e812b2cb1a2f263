"""List and fetch with git, and write one line in the log for each: what was asked, how long it took, how it ended."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from apps.lib.git import checkouts, refs
from apps.lib.git.access import Access, GitFailed, Limits
from apps.lib.git.checkouts import Commit
from apps.lib.git.refs import Listing
from apps.lib.git.remotes import Remote

DONE = "done"

log = structlog.get_logger("larder.sources")


def listed(repository_id: int, remote: Remote, access: Access) -> Listing:
    """As `refs.listed`. `remote` is another one than the repository's for a module of a registry."""
    outcome, found, began = "error", None, time.monotonic()
    try:
        found = refs.listed(remote, access, Limits())
        outcome = DONE
    except GitFailed as failed:
        outcome = failed.code
        raise
    finally:
        log.info(
            "git_listing",
            repository=repository_id,
            url=remote.url,
            tags=len(found.tags) if found is not None else 0,
            seconds=round(time.monotonic() - began, 3),
            bytes=found.size if found is not None else 0,
            outcome=outcome,
        )
    return found


@contextmanager
def fetched(
    repository_id: int,
    remote: Remote,
    access: Access,
    *,
    ref: str,
    expected: str = "",
    submodules: bool = False,
    limits: Limits | None = None,
) -> Iterator[Commit]:
    """As `checkouts.fetched`. What the caller does meanwhile does not count; a refusal of its own is `done`."""
    outcome, size, began = "error", 0, time.monotonic()
    seconds = None
    try:
        limits = limits or Limits()
        with checkouts.fetched(remote, access, limits, ref=ref, expected=expected, submodules=submodules) as commit:
            outcome = DONE
            try:
                yield commit
            finally:
                seconds, size = commit.seconds, commit.size
    except GitFailed as failed:
        outcome = failed.code
        raise
    finally:
        log.info(
            "git_fetch",
            repository=repository_id,
            url=remote.url,
            ref=ref,
            seconds=round(time.monotonic() - began if seconds is None else seconds, 3),
            bytes=size,
            outcome=outcome,
        )
