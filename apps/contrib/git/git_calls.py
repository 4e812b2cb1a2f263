"""List and fetch with git, and write one line in the log for each: what was asked, how long it took, how it ended."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog

from apps.contrib.git.models import GitRepository, Submodules
from apps.contrib.git.remote import checkouts, refs
from apps.contrib.git.remote.access import Access, GitFailed, Limits
from apps.contrib.git.remote.checkouts import Commit
from apps.contrib.git.remote.refs import Listing
from apps.contrib.git.remote.remotes import Remote

DONE = "done"
# For all tags of a preview, after its first fetch.
MAX_SECONDS = 60.0
MAX_BYTES = Limits().pack_bytes

log = structlog.get_logger("larder.sources")


@dataclass(frozen=True, slots=True)
class Source:
    """`ref`: what is fetched, such as refs/tags/v1.0.0 or a commit id. `commit`: what it must be, if that is known.

    Of a version of another registry, `registry` is its address there with the version, and `folder` what the registry
    names; for all else the rules name the folder.
    """

    remote: Remote
    access: Access
    ref: str
    commit: str
    forge: str
    folder: str = ""
    registry: str = ""


@dataclass
class Budget:
    """The time and bytes that the fetches of a preview may still take."""

    until: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)
    left_bytes: int = MAX_BYTES

    @property
    def seconds(self) -> float:
        return self.until - time.monotonic()

    @property
    def is_over(self) -> bool:
        return self.seconds <= 0 or self.left_bytes <= 0


def listed(repository_id: int, remote: Remote, access: Access) -> Listing:
    """List the refs like `refs.listed`. `remote` is another one than the repository's for a module of a registry."""
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
def fetched(repository: GitRepository, source: Source, budget: Budget | None = None) -> Iterator[Commit]:
    """Fetch the commit like `checkouts.fetched`. What the caller does meanwhile does not count; a refusal of its own is
    `done`.
    """
    outcome, size, began = "error", 0, time.monotonic()
    seconds = None
    try:
        with checkouts.fetched(
            source.remote,
            source.access,
            Limits() if budget is None else Limits(seconds=max(1.0, budget.seconds)),
            ref=source.ref,
            expected=source.commit,
            submodules=repository.submodules == Submodules.FETCH,
        ) as commit:
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
            repository=repository.pk,
            url=source.remote.url,
            ref=source.ref,
            seconds=round(time.monotonic() - began if seconds is None else seconds, 3),
            bytes=size,
            outcome=outcome,
        )
