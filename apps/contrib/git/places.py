"""The places of a repository's versions: a Git server, or the addresses that another registry names. No other code
tells these apart.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from apps.accounts.access.gate import Viewer
from apps.contrib.git import forges, git_places
from apps.contrib.git.git_calls import Source
from apps.contrib.git.git_places import GitPlace
from apps.contrib.git.models import Forge, GitRepository, Tag
from apps.contrib.git.registry_places import RegistryPlace
from apps.contrib.git.remote import remotes
from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.remote.refs import Ref
from apps.contrib.git.remote.remotes import Remote
from apps.contrib.git.rulebook import CheckedRule
from apps.contrib.git.tag_matching import TagMatch
from apps.lib.errors import Invalid
from apps.releases.models import Release
from apps.releases.origin import other_registries


class Found(Protocol):
    """The result of a listing; as text, how many of what."""

    def matched(self, row: GitRepository, now: datetime) -> tuple[list[Ref], Callable[[Ref], list[TagMatch]]]:
        """Return the tags, and what judges them. In the transaction that has locked the repository."""


class Place(Protocol):
    """Methods that ask a server raise GitFailed, and no transaction may be open.

    `noun`: what is listed. `transport`: ssh, https or registry. `rules_name_folders`: else the registry does.
    """

    @property
    def noun(self) -> str: ...
    @property
    def transport(self) -> str: ...
    @property
    def rules_name_folders(self) -> bool: ...

    def checked_rules(self, given: Iterable[Mapping[str, Any]]) -> list[CheckedRule]:
        """Raises Invalid."""

    def checked_credential(self, given: Mapping[str, Any] | None) -> tuple[str, dict[str, Any], str]:
        """Return the kind, the facts and the secret. Raises Invalid."""

    def page_to_allow(self, viewer: Viewer) -> str:
        """Return the page on which this viewer lets versions through that policy holds back; empty for most."""

    def listed(self) -> Found: ...

    def scanned(self) -> dict[str, Any]:
        """Return what a preview shows before anything is published, in the fields of `previewing.ask`."""

    def source_of(self, tag: Tag) -> Source:
        """Return where the tag's commit is; nothing is written."""

    def pinned(self, tag: Tag) -> Source:
        """Return where the commit is from which the tag may be published now, and remember that. Raises Decided."""

    def fetching(self, source: Source) -> AbstractContextManager[None]:
        """Return what surrounds a fetch for publishing."""

    def is_over(self, failed: GitFailed) -> bool:
        """Return whether a fetch that failed so is not tried again."""

    def is_of(self, tag: Tag, facts: Mapping[str, Any]) -> bool:
        """Return whether a release with this origin was made of the tag, from whatever commit."""

    def is_from(self, tag: Tag, facts: Mapping[str, Any]) -> bool:
        """Return whether a release with this origin has the tag's commit."""

    def is_made(self, tag: Tag, release: Release) -> bool:
        """Return whether publishing would find that this release, which came from Git, was made of the tag already."""


def of(repository: GitRepository) -> Place:
    return RegistryPlace(repository) if repository.forge == Forge.REGISTRY else GitPlace(repository)


def named(url: str, forge: str, viewer: Viewer) -> tuple[str, Remote]:
    """Return the forge and the URL that a person means: of a repository, or the address of a module in a registry.

    Raises Invalid, and for a module NotFound and Conflict if its registry is not mirrored.
    """
    if forge not in ("", Forge.REGISTRY):
        return forge, git_places.server_of(url)
    module = other_registries.modules.named(url.strip().removeprefix("https://") if forge else url)
    if module is not None:
        module.require_mirrored(viewer)
        return Forge.REGISTRY, remotes.parse(f"https://{module}")
    if forge:
        raise Invalid(
            f"{url[:120]!r} is not the address of a module in a registry.",
            hint="Write it such as registry.opentofu.org/terraform-aws-modules/vpc/aws.",
        )
    remote = git_places.server_of(url)
    return forges.guessed(remote), remote


def listed_version(address: str, sort_key: bytes) -> str:
    """Return the version as a connected module of another registry lists it, or "", whatever the address's case."""
    rows = Tag.objects.filter(repository__forge=Forge.REGISTRY, repository__ended_at=None, sort_key=sort_key)
    found = rows.filter(repository__url__iexact=f"https://{address}").order_by("pk")
    return found.values_list("version", flat=True).first() or ""
