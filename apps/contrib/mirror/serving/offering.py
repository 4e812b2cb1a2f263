"""Modules of registries as `releases.origin.other_registries` declares them, for the room that publishes from Git."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse

from apps.accounts.access.gate import Viewer
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.policy.evaluation import Decision
from apps.contrib.mirror.records import modules
from apps.contrib.mirror.records.modules import HostedModule, KnownVersion, ListedVersion
from apps.releases.origin.other_registries import HeldBack, NotOffered, Seen


class Modules:
    def named(self, text: str) -> "Module | None":
        found = modules.parse_address(text)
        return None if found is None else Module(found)


@dataclass(frozen=True, slots=True)
class Module:
    hosted: HostedModule

    def __str__(self) -> str:
        return str(self.hosted)

    def require_mirrored(self, viewer: Viewer) -> None:
        modules.require_mirrored(viewer, self.hosted)

    def offer(self, known: Collection[str]) -> "Offer":
        with _failures_told():
            upstream = modules.upstream_of(self.hosted)
            listed = {one.version: one for one in modules.listed(upstream, self.hosted, known=known)}
            return Offer(listed, modules.decider(upstream, self.hosted))

    def held_back(self, seen: Seen, now: datetime) -> HeldBack | None:
        with _failures_told():
            decide = modules.decider(modules.upstream_of(self.hosted), self.hosted)
        return _held(decide(_known(seen.version, bytes(seen.sort_key), seen.seen_at, seen.known_since), now))

    def location_of(self, version: str) -> str:
        with _failures_told():
            return modules.location_of(modules.upstream_of(self.hosted), self.hosted, version)

    def page_to_allow(self, viewer: Viewer) -> str:
        if viewer.user is None or not viewer.user.has_perm(upstreams.OPERATE):
            return ""
        page = reverse("portal:upstream-policy", args=[self.hosted.host])
        return f"{page}?{urlencode({'address': self.hosted.address})}"


@dataclass(frozen=True, slots=True)
class Offer:
    """`decide` has the policy and the exceptions that were in force when the registry was asked."""

    listed: dict[str, ListedVersion]
    decide: Callable[[KnownVersion, datetime], Decision]

    @property
    def versions(self) -> Collection[str]:
        return self.listed.keys()

    def standing_of(
        self, version: str, seen: Seen | None, now: datetime, *, is_first: bool
    ) -> tuple[datetime | None, HeldBack | None]:
        one = self.listed[version]
        seen_at = now if seen is None else seen.seen_at
        known_since = _known_since(one, seen, now, is_first=is_first)
        return known_since, _held(self.decide(_known(version, one.sort_key, seen_at, known_since), now))


def _known_since(listed: ListedVersion, seen: Seen | None, now: datetime, *, is_first: bool) -> datetime | None:
    """Return from when its age counts, as that of a provider's version does; None: it is old."""
    said = listed.published_at
    if seen is None:
        if said is not None:
            return min(said, now)
        return None if is_first and listed.is_old else now
    if said is not None:
        return min(said, seen.known_since or seen.seen_at)
    return seen.known_since


def _known(version: str, sort_key: bytes, seen_at: datetime, known_since: datetime | None) -> KnownVersion:
    """A version whose age counts from another time than when it was seen has that from the registry."""
    is_dated = known_since is not None and known_since != seen_at
    return KnownVersion(
        version, sort_key, seen_at, known_since if is_dated else None, was_in_first_list=known_since is None
    )


def _held(decision: Decision) -> HeldBack | None:
    if decision.is_visible:
        return None
    if decision.available_at is not None:
        return HeldBack(f"{decision.sentence} It is published then.", is_temporary=True)
    return HeldBack(decision.sentence, is_temporary=False)


@contextmanager
def _failures_told() -> Iterator[None]:
    try:
        yield
    except FetchFailed as failed:
        raise NotOffered(
            failed.code,
            f"{failed.url}: {failed.message}.",
            hint="Operators see the state of the registry on its page.",
            is_final=failed.is_final,
        ) from None
