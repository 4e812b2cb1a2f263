"""The place of a Git repository: its tags are the versions, and its rules say which modules they are versions of."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings

from apps.accounts.access.gate import Viewer
from apps.contrib.git import (
    credentials,
    forges,
    git_calls,
    host_scanning,
    locating,
    refusals,
    rulebook,
    scanning,
    tag_matching,
)
from apps.contrib.git.git_calls import Source
from apps.contrib.git.models import GitRepository, Tag
from apps.contrib.git.remote import remotes
from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.remote.refs import Listing, Ref
from apps.contrib.git.remote.remotes import Remote
from apps.contrib.git.rulebook import CheckedRule
from apps.contrib.git.tag_matching import TagMatch
from apps.lib.net import addresses
from apps.releases.models import Release


@dataclass(frozen=True, slots=True)
class GitPlace:
    """A Git repository as a `places.Place`."""

    repository: GitRepository

    noun = "tags"
    rules_name_folders = True

    @property
    def transport(self) -> str:
        """Plain http takes what https takes."""
        return "ssh" if remotes.parse(self.repository.url).scheme == "ssh" else "https"

    def checked_rules(self, given: Iterable[Mapping[str, Any]]) -> list[CheckedRule]:
        return rulebook.checked(given)

    def checked_credential(self, given: Mapping[str, Any] | None) -> tuple[str, dict[str, Any], str]:
        return credentials.checked(remotes.parse(self.repository.url).scheme, given)

    def page_to_allow(self, viewer: Viewer) -> str:  # noqa: ARG002
        return ""

    def listed(self) -> "Tags":
        host_scanning.pin_first(self.repository)
        remote = remotes.parse(self.repository.url)
        return Tags(git_calls.listed(self.repository.pk, remote, credentials.access_of(self.repository)), remote)

    def scanned(self) -> dict[str, Any]:
        host_scanning.pin_first(self.repository)
        remote = remotes.parse(self.repository.url)
        return scanning.scanned(self.repository, remote, credentials.access_of(self.repository))

    def source_of(self, tag: Tag) -> Source:
        return Source(
            remotes.parse(self.repository.url),
            credentials.access_of(self.repository),
            f"{forges.TAGS}{tag.name}",
            tag.commit,
            self.repository.forge,
        )

    pinned = source_of

    def fetching(self, source: Source) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    def is_over(self, failed: GitFailed) -> bool:
        """With another failure it is tried when the repository can be listed again."""
        return failed.code in refusals.OF_COMMIT

    def is_of(self, tag: Tag, facts: Mapping[str, Any]) -> bool:
        return facts.get("ref") == f"{forges.TAGS}{tag.name}"

    def is_from(self, tag: Tag, facts: Mapping[str, Any]) -> bool:
        shown = locating.shown(remotes.parse(self.repository.url))
        return facts.get("commit") == tag.commit and facts.get("repository") == shown

    def is_made(self, tag: Tag, release: Release) -> bool:
        return self.is_from(tag, release.origin.facts) and release.folder == tag.folder


@dataclass(frozen=True, slots=True)
class Tags:
    """`remote`: that of the repository, from which redirects may have led elsewhere."""

    listing: Listing
    remote: Remote

    def __str__(self) -> str:
        there = f" at {self.listing.remote.url}" if self.listing.remote != self.remote else ""
        return f"{len(self.listing.tags):,} tags{there}"

    def matched(self, row: GitRepository, now: datetime) -> tuple[list[Ref], Callable[[Ref], list[TagMatch]]]:  # noqa: ARG002
        return list(self.listing.tags), partial(tag_matching.match_rules, rules=rulebook.of(row))


def server_of(url: str) -> Remote:
    """Raises Invalid, also for an address that would never be called. Registries are called where operators allow."""
    remote = remotes.parse(url)
    hint = f"Use the public name of the server, or ask an operator for {addresses.ALLOW_SETTING}."
    addresses.check_literal(remote.parts, settings.SOURCES.allow, hint=hint)
    return remote
