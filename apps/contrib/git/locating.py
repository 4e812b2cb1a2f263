"""The facts in the release of a tag about where its commit was fetched."""

from apps.accounts.identity import marks
from apps.contrib.git import forges, pushing, requesting, tag_signatures
from apps.contrib.git.git_calls import Source
from apps.contrib.git.models import Tag
from apps.contrib.git.remote.checkouts import Commit
from apps.contrib.git.remote.remotes import Remote
from apps.releases.origin.models import Part
from apps.releases.origin.recording import Fetched


def facts_of(tag: Tag, source: Source, commit: Commit) -> Fetched:
    """The origin of its release."""
    remote, name = source.remote, source.ref.removeprefix(forges.TAGS)
    is_tag = source.ref.startswith(forges.TAGS)
    facts = {
        "registry": source.registry,
        "repository": shown(remote),
        "url": remote.url,
        "commit": commit.id,
        "ref": source.ref if is_tag else "",
    }
    links = {
        "repository": forges.page_of(source.forge, remote),
        "commit": forges.commit_page(source.forge, remote, commit.id),
        "ref": forges.tag_page(source.forge, remote, name) if is_tag else "",
    }
    makers: set[str] = set()
    if is_tag:
        makers = tag_signatures.makers_of(commit.tag, commit.raw)
        signed = tag_signatures.read(commit.tag, tag.repository.namespace)
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


def shown(remote: Remote) -> str:
    return f"{remote.host}{remote.port_suffix}/{remote.name}"
