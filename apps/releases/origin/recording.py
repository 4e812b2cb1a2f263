"""Record where a release comes from, when its number is reserved: afterwards the token is gone.

A draft belongs to a person or a machine, not to a token: others of theirs may send its files or hand it in. Then the
origin is that of who handed it in, and names the others.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.accounts.access import machines
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.trusted import kept_claims
from apps.accounts.identity.trusted.vendors import VENDORS
from apps.accounts.models import TokenExchange
from apps.releases.models import Release
from apps.releases.origin.models import Origin, Part, Participant, Way

MAX_OTHERS = 20


@dataclass(frozen=True, slots=True)
class Fetched:
    """The facts that Larder fetched itself, such as repository, commit and ref, and pages of them.

    `marks` are of who made or pushed the tag, `asked` the numbers of who had it published, both by how.
    """

    facts: Mapping[str, str]
    links: Mapping[str, str]
    marks: Mapping[Part, Collection[str]] = field(default_factory=dict)
    asked: Mapping[Part, Collection[int]] = field(default_factory=dict)


def record(
    release: Release,
    viewer: Viewer,
    way: Way,
    *,
    read_from: Release | None = None,
    fetched: Fetched | None = None,
) -> Origin:
    """In the transaction that reserves. `read_from` is the release whose upload this one is read from as well."""
    origin = _seen(release, viewer, way)
    if fetched is not None:
        origin.facts, origin.links = dict(fetched.facts), dict(fetched.links)
        took_part(release, marks=fetched.marks, people=fetched.asked)
    if read_from is not None:
        sent = Origin.objects.filter(release=read_from).first()
        # Nobody knows who sent what an older Larder received.
        _join(
            origin, sent.others if sent else [], _entry(sent) if sent else {"way": "", "token_label": "", "facts": {}}
        )
    origin.save()
    _note(release, viewer)
    return origin


def contributed(release: Release, viewer: Viewer) -> None:
    """Record who sent bytes, in the transaction that takes them, which locks the release."""
    if viewer.token_id == release.token_id:
        return
    _note(release, viewer)
    origin = Origin.objects.filter(release=release).first()
    if origin is None:  # an older Larder reserved it
        return
    before = list(origin.others)
    _join(origin, [], _entry(_seen(release, viewer, way_of(viewer))))
    if origin.others != before:
        origin.save(update_fields=["others"])


def handed_in(release: Release, viewer: Viewer) -> None:
    """Record who handed in a draft, in the transaction that accepts it: it says what the release is."""
    if viewer.token_id == release.token_id:
        return
    _note(release, viewer)
    opened = Origin.objects.filter(release=release).first()
    if opened is None:
        return
    origin = _seen(release, viewer, way_of(viewer))
    _join(origin, opened.others, _entry(opened))
    origin.pk = opened.pk
    origin.save(force_update=True)


def answered(release: Release, viewer: Viewer) -> None:
    """Record who answered the questions of a release, in the transaction that takes the answer: they say what it is."""
    took_part(release, people={Part.ANSWER: machines.people_behind(viewer)})


def retried(kind: str, row: object, viewer: Viewer) -> None:
    """Record who has the publishing of a release tried again (`jobs.queue.retry`), in its transaction."""
    if isinstance(row, Release) and kind == f"publish-{row.kind}":
        took_part(row, people={Part.RETRY: machines.people_behind(viewer)})


def took_part(
    release: Release,
    *,
    people: Mapping[Part, Collection[int]] | None = None,
    marks: Mapping[Part, Collection[str]] | None = None,
) -> None:
    """Record who took part beside the author, by how, in the caller's transaction. Safe to repeat."""
    rows = [
        Participant(release=release, user_id=number, part=part)
        for part, numbers in (people or {}).items()
        for number in sorted(numbers)
        if number != release.created_by_id
    ]
    rows += [
        Participant(release=release, mark=mark, part=part)
        for part, found in (marks or {}).items()
        for mark in sorted(found)
    ]
    if rows:
        Participant.objects.bulk_create(rows, ignore_conflicts=True)


def _note(release: Release, viewer: Viewer) -> None:
    """Record the people behind a token: its maker, and the starter of the run that it was made for."""
    if viewer.token_id is None:
        return
    exchange = _exchange_of(viewer)
    actor = exchange.actor if exchange is not None else ()
    took_part(release, people={Part.TOKEN: machines.people_behind(viewer)}, marks={Part.ACTOR: actor})


def way_of(viewer: Viewer) -> Way:
    """Return how the request came in. Without a token and a session there is no person: Larder does it, as its first
    run publishes the demo.
    """
    return Way.API if viewer.token else Way.PAGE if viewer.session else Way.COMMAND


def _seen(release: Release, viewer: Viewer, way: Way) -> Origin:
    """Return the origin that the viewer's credentials prove, unsaved."""
    origin = Origin(release=release, way=way, token_label=viewer.token.label if viewer.token else "")
    exchange = _exchange_of(viewer)
    if exchange is not None:
        rule = exchange.publisher
        origin.publisher, origin.vendor, origin.issuer = rule, rule.kind, rule.issuer
        origin.claims = exchange.claims
        origin.facts = kept_claims.origin_of(VENDORS[rule.kind], exchange.claims)
    return origin


def _entry(origin: Origin) -> dict[str, Any]:
    """Two tokens of one run are the same: each job of it exchanges its own. `by` is the id of the account."""
    label = "" if origin.vendor else origin.token_label
    return {"by": origin.release.created_by_id, "way": origin.way, "token_label": label, "facts": origin.facts}


def _join(origin: Origin, others: list[dict[str, Any]], another: dict[str, Any]) -> None:
    own, found = _entry(origin), []
    for one in (*origin.others, *others, another):
        if one != own and one not in found:
            found.append(one)
    origin.others = found[:MAX_OTHERS]


def _exchange_of(viewer: Viewer) -> TokenExchange | None:
    """Only machines have tokens that were exchanged."""
    if viewer.token is None or viewer.user is None or not viewer.user.is_service:
        return None
    return TokenExchange.objects.select_related("publisher").filter(token=viewer.token_id).first()
