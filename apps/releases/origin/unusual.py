"""Unusual facts about a release, in sentences for its approver: it differs from the releases before it."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from apps.releases.models import Release, State
from apps.releases.origin.models import Origin, Way, joined

# More releases than these in the same namespace within an hour.
MANY = 5
HOUR = timedelta(hours=1)
# Of a name, so many of the latest releases are asked for their origin.
MAX_COMPARED = 200
_TAG = "refs/tags/"


def unusual(release: Release) -> list[str]:
    """Empty if nothing is. Compares with the published releases of the same module or provider."""
    since = (release.received_at or timezone.now()) - HOUR
    lately = Release.objects.filter(namespace=release.namespace, received_at__gte=since)
    if release.received_at is not None:
        lately = lately.filter(received_at__lte=release.received_at)
    count = lately.count()
    many = [f"{count} releases came into {release.namespace.name} within an hour."] if count > MANY else []
    return [*_first_of_all(release), *many]


def _first_of_all(release: Release) -> Iterator[str]:
    rows = Release.objects.filter(
        kind=release.kind, namespace=release.namespace, name=release.name, state=State.PUBLISHED
    )
    before = rows.exclude(pk=release.pk).order_by("-published_at", "-pk")
    latest = before.select_related("origin").first()
    if latest is None:
        yield f"This is the first release of {release.address}."
        return
    origin: Origin | None = joined(release, "origin")
    if origin is not None and origin.others:
        yield "More than one token or run took part in it."
    if origin is not None and origin.is_verified:
        yield from _first_of_run(origin, before)
    elif origin is not None and origin.way == Way.GIT:
        yield from _first_of_repository(origin, before)
    else:
        came: Origin | None = joined(latest, "origin")
        if came is not None and came.is_verified:
            yield f"{latest.version} came from CI; this one was published manually."
        elif came is not None and came.way == Way.GIT:
            yield f"{latest.version} came from Git; this one was published manually."
        author = release.created_by
        if author is not None and not before.filter(created_by=author).exists():
            yield f"This is the first release of {release.address} by {author.shown_name}."


def _first_of_run(origin: Origin, before: QuerySet[Release]) -> Iterator[str]:
    """Each vendor writes its own facts, so they are compared with those of the same issuer."""
    rows = Origin.objects.filter(release__in=before.values("pk")[:MAX_COMPARED]).exclude(claims={})
    known = [row.facts for row in rows if row.issuer == origin.issuer]
    if not known:
        yield "This is the first release from CI." if not rows else f"This is the first release from {origin.issuer}."
        return
    said = {
        "repository": "the repository {}",
        "workflow": "the workflow {}",
        "ref": "{}",
        "actor": "a run that {} started",
    }
    for fact, words in said.items():
        value = _comparable(fact, origin.facts.get(fact, ""))
        if value and value not in {_comparable(fact, facts.get(fact, "")) for facts in known}:
            shown = "a tag" if value == _TAG else f"the ref {value}" if fact == "ref" else value
            yield f"This is the first release from {words.format(shown)}."


def _first_of_repository(origin: Origin, before: QuerySet[Release]) -> Iterator[str]:
    """Fetched from Git: another repository, another tagger, or a tag that is signed less well than the last one."""
    rows = Origin.objects.filter(release__in=before.values("pk")[:MAX_COMPARED], way=Way.GIT).select_related("release")
    known = list(rows.order_by("-release__published_at", "-pk"))
    if not known:
        yield "This is the first release from Git."
        return
    if origin.facts.get("repository") not in {row.facts.get("repository") for row in known}:
        yield f"This is the first release from the repository {origin.facts.get('repository')}."
    tagger = origin.facts.get("tagger")
    if tagger and tagger not in {row.facts.get("tagger") for row in known}:
        yield f"This is the first release that {tagger} tagged."
    signed, last = origin.facts.get("signature", ""), known[0].facts.get("signature", "")
    if signed != last:
        yield f"The signature of its tag is {signed}; that of {known[0].release.version} was {last}."


def _comparable(fact: str, value: str) -> str:
    """Without what differs for each version: its tag, also as the end of a workflow's path."""
    if fact == "workflow":
        return value.partition("@")[0]
    return _TAG if fact == "ref" and value.startswith(_TAG) else value
