"""The consequences of an act, before it is done: who fails, who moves where, who downloaded (D9).

One value for pages, the API and assistants, whatever the act takes away: a version, a key, a token or a mirror.
`modules.dependents.impact` finds those of versions.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Sum
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.lib import versions
from apps.releases.models import DownloadCount, Fetch, Release, ReleaseBlob

DAYS = 30
# Of one group, on pages and in documents.
MAX_LISTED = 50
MAX_OTHERS = 50
MAX_FETCHES = 5_000


class Act(StrEnum):
    DEPRECATE = "deprecate"
    YANK = "yank"
    QUARANTINE = "quarantine"
    PURGE = "purge"
    RETIRE_KEY = "retire-key"
    REVOKE_KEY = "revoke-key"

    @property
    def is_safe(self) -> bool:
        """Clients keep getting the version."""
        return self in (Act.DEPRECATE, Act.RETIRE_KEY)

    @property
    def takes_bytes(self) -> bool:
        return self in (Act.QUARANTINE, Act.PURGE)


class Effect(StrEnum):
    """The worst first."""

    FAILS = "fails"
    MAY_FAIL = "may-fail"
    MOVES = "moves"
    KEEPS = "keeps"
    DOWNLOADED = "downloaded"


class Hitting(StrEnum):
    """The kind of what is hit."""

    CONFIGURATION = "configuration"
    MODULE = "module"
    VERSION = "version"
    PROVIDER = "provider"
    CLIENT = "client"
    CREATION = "creation"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True)
class Hit:
    """One of those that an act hits. `gets` is the version that it moves to; `by` the account or team that answers.

    `where` is the folder of a configuration, `asks` its range, `count` how often it was downloaded, `at` the last time
    that Larder heard of it.
    """

    kind: Hitting
    name: str
    effect: Effect
    where: str = ""
    asks: str = ""
    by: str = ""
    gets: str = ""
    note: str = ""
    count: int = 0
    at: datetime | None = None
    url: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """The act in words: what those do that it hits (one, several), and the title of their list; {} is their kind."""

    one: str
    many: str
    title: str


OF_VERSIONS = {
    Effect.FAILS: Words("fails at its next init", "fail at their next init", "{} that fail: no other version fits"),
    Effect.MAY_FAIL: Words(
        "fails if it pins the version exactly",
        "fail if they pin the version exactly",
        "{} that fail if they pin it exactly, and move otherwise",
    ),
    Effect.MOVES: Words("moves to another version", "move to another version", "{} that allow a range, and move"),
    Effect.KEEPS: Words("keeps working", "keep working", "{} that keep working"),
    Effect.DOWNLOADED: Words("", "", f"{{}} that downloaded it in the last {DAYS} days"),
}


def _nouns(kind: Hitting) -> tuple[str, str]:
    """Return the noun for one and for several."""
    noun = "object" if kind == Hitting.CREATION else str(kind)
    return noun, f"{noun}s"


@dataclass(frozen=True, slots=True)
class Figure:
    number: int
    words: str
    is_worst: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """The hits of one kind with one effect: the first of them, and how many there are."""

    kind: Hitting
    title: str
    hits: Sequence[Hit]
    count: int

    @property
    def where_label(self) -> str:
        return "Folder" if self.kind == Hitting.CONFIGURATION else "Version"

    @property
    def by_label(self) -> str:
        return {Hitting.CONFIGURATION: "Reported by", Hitting.CLIENT: "Account"}.get(self.kind, "Team")

    @property
    def gets_label(self) -> str:
        return "With a range" if self.hits[0].effect == Effect.MAY_FAIL else "Gets"

    @property
    def more(self) -> int:
        return self.count - len(self.hits)

    @property
    def columns(self) -> set[str]:
        """The facts that at least one of them has, by the name of the field."""
        names = ("where", "asks", "by", "gets", "note", "count", "at")
        return {name for name in names if any(getattr(hit, name) for hit in self.hits)}


@dataclass(frozen=True, slots=True)
class Consequences:
    """`hits` are those that the viewer may read of, `counts` has all of them. `downloads` are of the last 30 days, and
    `nameless` are those among them that came without a token. `people` are the accounts behind the hits.
    """

    hits: Sequence[Hit] = ()
    counts: Mapping[tuple[Hitting, Effect], int] = field(default_factory=dict)
    downloads: int = 0
    nameless: int = 0
    people: frozenset[int] = frozenset()
    words: Mapping[Effect, Words] = field(default_factory=lambda: OF_VERSIONS)
    # The acts on more modules or providers than one page describes.
    is_complete: bool = True

    def number(self, effect: Effect) -> int:
        return sum(count for (kind, one), count in self.counts.items() if one == effect)

    @property
    def fails(self) -> int:
        return self.number(Effect.FAILS)

    @property
    def may_fail(self) -> int:
        return self.number(Effect.MAY_FAIL)

    @property
    def moves(self) -> int:
        return self.number(Effect.MOVES)

    @property
    def keeps(self) -> int:
        return self.number(Effect.KEEPS)

    @property
    def hits_no_one(self) -> bool:
        return not (self.counts or self.downloads or self.hits)

    @property
    def breaks(self) -> bool:
        return bool(self.fails or self.may_fail)

    @property
    def worst(self) -> str:
        """The first figure as a sentence beside the button: `4 configurations fail at their next init.`"""
        first = self.figures[0] if self.breaks else None
        return f"{first.number:,} {first.words}." if first else ""

    @property
    def figures(self) -> list[Figure]:
        """The numbers of those that fail, that move and where to, and of downloads, in this order; none is zero."""
        found: list[Figure] = []
        for effect in (Effect.FAILS, Effect.MAY_FAIL, Effect.MOVES, Effect.KEEPS):
            for kind in Hitting:
                if number := self.counts.get((kind, effect), 0):
                    found.append(Figure(number, self._sentence(kind, effect, number), is_worst=not found))
        if self.downloads:
            noun = "download" if self.downloads == 1 else "downloads"
            found.append(Figure(self.downloads, f"{noun} in {DAYS} days"))
        breaking = self.breaks
        return [Figure(one.number, one.words, is_worst=one.is_worst and breaking) for one in found]

    def _sentence(self, kind: Hitting, effect: Effect, number: int) -> str:
        one, many = _nouns(kind)
        words = self.words[effect]
        does = words.one if number == 1 else words.many
        places = {hit.gets for hit in self.hits if (hit.kind, hit.effect) == (kind, effect) and hit.gets}
        if effect == Effect.MOVES and len(places) == 1:
            does = does.replace("another version", places.pop())
        return f"{one if number == 1 else many} {does}"

    @property
    def groups(self) -> list[Group]:
        return list(self._groups())

    def _groups(self) -> Iterator[Group]:
        for effect in Effect:
            for kind in Hitting:
                hits = [hit for hit in self.hits if (hit.kind, hit.effect) == (kind, effect)]
                if hits:
                    count = max(len(hits), self.counts.get((kind, effect), 0))
                    title = self.words[effect].title.format(_nouns(kind)[1].capitalize())
                    yield Group(kind, title, hits[:MAX_LISTED], count)


def consequences_of(hits: Iterable[Hit], **more: object) -> Consequences:
    """Count hits that the viewer may all read."""
    found = list(hits)
    counts = Counter((hit.kind, hit.effect) for hit in found if hit.effect != Effect.DOWNLOADED)
    return Consequences(hits=found, counts=counts, **more)  # type: ignore[arg-type]  # the fields of Consequences


# Beside what this registry's modules and pipelines use: the hits that rooms above know of, such as a mirror.
Contributor = Callable[[Viewer, Sequence[Release], Act], Iterable[Hit]]
contributors: tuple[Contributor, ...] = ()  # by registry_site/wiring.py


def downloads_of(releases: Sequence[Release]) -> int:
    """Count the downloads of the last 30 days. Only publishers may see it: the caller asks the gate."""
    since = timezone.now().date() - timedelta(days=DAYS)
    counts = DownloadCount.objects.filter(release__in=releases, day__gte=since)
    return counts.aggregate(total=Sum("count"))["total"] or 0


def fetches_of(releases: Sequence[Release]) -> list[Fetch]:
    """Return who downloaded one of them in the last 30 days, the latest first. Only publishers may see it: the caller
    asks the gate.
    """
    since = timezone.now().date() - timedelta(days=DAYS)
    rows = Fetch.objects.filter(release__in=releases, last_on__gte=since).select_related("user__service_of")
    return list(rows.order_by("-last_on", "user__username", "pk")[:MAX_FETCHES])


def fallback_of(release: Release) -> str:
    """The version that clients with an open range select once this one is yanked; empty without any."""
    others = Release.objects.listed().filter(kind=release.kind, namespace=release.namespace_id, name=release.name)
    numbers = others.exclude(pk=release.pk).newest_first().values_list("version", flat=True)
    return next((number for number in numbers if not versions.parse(number).is_prerelease), "")


def same_bytes_elsewhere(release: Release) -> list[Release]:
    """Return other published releases that share bytes: a quarantine blocks those, too, and a purge keeps them."""
    digests = [release.digest, *release.blobs.values_list("digest", flat=True)]
    whole = Release.objects.filter(digest__in=digests).values_list("pk", flat=True)
    parts = ReleaseBlob.objects.filter(digest__in=digests).values_list("release")
    others = Release.objects.published().filter(pk__in=whole.union(parts)).exclude(pk=release.pk)
    return list(others.select_related("namespace").order_by("namespace__name", "name", "-sort_key", "pk")[:MAX_OTHERS])
