"""The pushers of tags, as the forge's webhook names them: they take part in the release that comes of the tag.

The signature covers the name. Only tags that a webhook names count: a push of a branch meanwhile says nothing about a
tag that a listing finds. docs/approval.md has what each forge tells.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from apps.accounts.identity import marks
from apps.contrib.git import forges
from apps.contrib.git.models import Forge, GitRepository, Push, Tag
from apps.contrib.git.remote import remotes
from apps.releases.models import WORKING
from apps.releases.origin import recording
from apps.releases.origin.models import Part

# For so long a tag may wait to be listed and fetched; its release has a copy.
KEPT = timedelta(days=30)
MAX_TAGS = 100  # of one webhook


def record(repository: GitRepository, forge: Forge, event: str, body: Mapping[str, Any], *, now: datetime) -> None:
    """Record who pushed the tags that a genuine webhook names, in the caller's transaction. Safe to repeat."""
    vendor = forges.VENDORS[forge]
    found = _marks(forge, repository, body)
    # Git has no other names, and the database takes no NUL and no half of a surrogate pair.
    fitting = (name for name in vendor.tags(event, body) if 0 < len(name) <= Push.MAX_TAG and name.isprintable())
    names = sorted(set(fitting))[:MAX_TAGS]
    rows = [Push(repository=repository, tag=name, mark=mark, at=now) for name in names for mark in sorted(found)]
    if not rows:
        return
    Push.objects.bulk_create(
        rows, update_conflicts=True, update_fields=["at"], unique_fields=["repository", "tag", "mark"]
    )
    # A poll was faster than the webhook.
    made = Tag.objects.filter(repository=repository, name__in=names, release__state__in=WORKING)
    for tag in made.select_related("release"):
        note(tag)


def note(tag: Tag) -> None:
    """Copy them to the release that was made of the tag, which has not ended."""
    if tag.release is not None and tag.release.state in WORKING:
        recording.took_part(tag.release, marks={Part.PUSHER: pushers_of(tag)})


def pushers_of(tag: Tag) -> set[str]:
    """Return their marks."""
    return set(Push.objects.filter(repository=tag.repository_id, tag=tag.name).values_list("mark", flat=True))


def prune(now: datetime) -> int:
    return Push.objects.filter(at__lt=now - KEPT).delete()[0]


def _marks(forge: Forge, repository: GitRepository, body: Mapping[str, Any]) -> set[str]:
    vendor, site = forges.VENDORS[forge], urlsplit(forges.page_of(forge, remotes.parse(repository.url)))
    ids = [one for one in vendor.pusher_ids(body) if isinstance(one, int | str) and not isinstance(one, bool)]
    found = {marks.of_subject(f"{site.scheme}://{site.netloc}", str(one)) for one in ids if str(one).strip()}
    # Azure writes "Windows Live ID\\alice@acme.example".
    texts = [one.rpartition("\\")[2] for one in vendor.pusher_addresses(body) if isinstance(one, str)]
    return found | {marks.of_address(text) for text in texts if "@" in text}
