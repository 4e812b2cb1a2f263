"""Where a tag's commit is fetched from, and what its release says of that."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.accounts.identity import marks
from apps.lib.git import remotes
from apps.lib.git.access import Access
from apps.lib.git.checkouts import Commit
from apps.lib.git.remotes import Remote
from apps.releases.origin.recording import Fetched
from apps.releases.origin.rows import Part
from apps.sources import credentials, forges, pushing, requesting, tag_signatures
from apps.sources.models import Forge, Tag


@dataclass(frozen=True, slots=True)
class Source:
    """`ref`: what is fetched, such as refs/tags/v1.0.0 or a commit id. `commit`: what it must be."""

    remote: Remote
    access: Access
    ref: str
    commit: str
    folder: str


def of_repository(tag: Tag) -> Source:
    """The tag of a Git repository. Raises GitFailed for a credential that cannot be used."""
    repository = tag.repository
    return Source(
        remotes.parse(repository.url),
        credentials.access_of(repository),
        f"refs/tags/{tag.name}",
        tag.commit,
        tag.folder,
    )


def facts_of(tag: Tag, source: Source, commit: Commit) -> Fetched:
    """The origin of its release."""
    remote, repository = source.remote, tag.repository
    is_mirrored = repository.forge == Forge.REGISTRY
    forge = forges.guessed(remote) if is_mirrored else repository.forge
    is_tag = source.ref.startswith(forges.TAGS)
    facts = {
        "registry": version_in_registry(tag) if is_mirrored else "",
        "repository": shown(remote),
        "url": remote.url,
        "commit": commit.id,
        "ref": source.ref if is_tag else "",
    }
    links = {
        "repository": forges.page_of(forge, remote),
        "commit": forges.commit_page(forge, remote, commit.id),
        "ref": forges.tag_page(forge, remote, source.ref.removeprefix(forges.TAGS)) if is_tag else "",
    }
    makers: set[str] = set()
    if is_tag:
        makers = tag_signatures.makers_of(commit.tag, commit.raw)
        signed = tag_signatures.read(commit.tag, repository.namespace)
        facts |= {"tagger": signed.tagger, "signature": signed.signature}
    return Fetched(
        {name: text for name, text in facts.items() if text},
        {name: link for name, link in links.items() if link},
        marks={
            Part.TAGGER: {marks.of_address(address) for address in makers},
            Part.PUSHER: pushing.pushers_of(tag) if is_tag else set(),
        },
        asked=requesting.behind(tag),
    )


def is_of(tag: Tag, facts: Mapping[str, Any]) -> bool:
    """Tell whether a release with this origin was made of the tag, from whatever commit."""
    if tag.repository.forge == Forge.REGISTRY:
        return facts.get("registry") == version_in_registry(tag)
    return facts.get("ref") == f"refs/tags/{tag.name}"


def is_from(tag: Tag, facts: Mapping[str, Any]) -> bool:
    """Tell whether a release with this origin has the tag's commit."""
    if facts.get("commit") != tag.commit:
        return False
    if tag.repository.forge == Forge.REGISTRY:
        return is_of(tag, facts)
    return facts.get("repository") == shown(remotes.parse(tag.repository.url))


def version_in_registry(tag: Tag) -> str:
    return f"{shown(remotes.parse(tag.repository.url))} {tag.name}"


def shown(remote: Remote) -> str:
    return f"{remote.host}{remote.port_suffix}/{remote.name}"
