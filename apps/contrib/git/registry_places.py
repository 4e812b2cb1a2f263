"""The place of a module of another registry: its versions are the tags, and policy decides which are published.

The registry says where a version is (`releases.origin.other_registries`). That place is a Git repository, which is
fetched as every repository is, without a credential. A version keeps the commit with which it was first fetched:
another one later raises an alarm, and is not published.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.contrib.git import (
    credentials,
    forges,
    git_calls,
    locating,
    locations_away,
    refusals,
    row_locks,
    rulebook,
    tag_matching,
)
from apps.contrib.git.git_calls import Source
from apps.contrib.git.locations_away import LocationFailed
from apps.contrib.git.models import COOLING_DOWN, POLICY, GitRepository, Tag, Verdict
from apps.contrib.git.remote import locations, remotes
from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.remote.refs import Listing, Ref
from apps.contrib.git.rulebook import CheckedRule
from apps.contrib.git.tag_matching import Decided, TagMatch
from apps.lib.errors import Invalid
from apps.releases.models import Release
from apps.releases.origin import other_registries
from apps.releases.origin.other_registries import HeldBack, Module, NotOffered, Offer

# The tag pattern of its one rule: the tags are the versions themselves.
PATTERN = "{version}"
# Published versions of which the registry is asked at each listing whether they are still where they were.
RECHECKED = 10
MOVED = "moved"

log = structlog.get_logger("larder.sources")


@dataclass(frozen=True, slots=True)
class RegistryPlace:
    """A module of another registry as a `places.Place`."""

    repository: GitRepository

    noun = "versions"
    transport = "registry"
    rules_name_folders = False

    def checked_rules(self, given: Iterable[Mapping[str, Any]]) -> list[CheckedRule]:
        """Return its one rule, which people may give to name the module otherwise. Raises Invalid."""
        module = self.repository.url.split("/", 4)[-1].lower()  # name/system
        found = rulebook.checked(list(given) or [{"tag": PATTERN, "folder": "", "module": module}])
        if len(found) > 1 or (found[0].tag, found[0].folder) != (PATTERN, ""):
            raise Invalid(
                "A module of another registry has one rule, whose tag pattern is {version}, without a folder.",
                hint=f'Leave the rules out, or write {{"tag": "{PATTERN}", "module": "vpc/aws"}} to rename the module.',
            )
        return found

    def checked_credential(self, given: Mapping[str, Any] | None) -> tuple[str, dict[str, Any], str]:
        if given and given.get("kind") != "none":
            raise Invalid(
                "A module of another registry takes no credential.",
                hint="The registry's own token is set by operators, on its upstream.",
            )
        return credentials.checked("https", given)

    def page_to_allow(self, viewer: Viewer) -> str:
        module = other_registries.modules.named(self._address)
        return module.page_to_allow(viewer) if module else ""

    def listed(self) -> "Versions":
        """Ask the registry, and where some published versions are now."""
        module = self._module
        with _failures_told():
            offer = module.offer(set(self.repository.tags.values_list("name", flat=True)))
        if not offer.versions and self.repository.fetched_at is None:
            raise GitFailed("no_versions", f"{module} has no versions.", hint="Check the spelling of the address.")
        return Versions(offer, _Recheck(self).commits(offer.versions))

    def scanned(self) -> dict[str, Any]:
        offer, now = self.listed().offer, timezone.now()
        rows = {row.name: row for row in self.repository.tags.order_by("-seen_at", "-pk")}
        is_first = self.repository.fetched_at is None
        shown = []
        for name in offer.versions:
            row = rows.get(name)
            _, held = offer.standing_of(name, row, now, is_first=is_first)
            shown.append({"tag": name, "commit": row.commit if row else "", "held": held.text if held else ""})
        return {"suggested": [rule.as_json() for rule in rulebook.of(self.repository)], "refs": shown}

    def source_of(self, tag: Tag, listings: dict[str, Listing] | None = None) -> Source:
        """Ask the registry for a location, and its Git repository for the commit. `listings`: those that are known."""
        try:
            text = self._module.location_of(tag.name)
        except NotOffered as problem:
            raise LocationFailed(problem, problem.code, hint=problem.hint, is_final=problem.is_final) from None
        place, listings = locations.parse(text), {} if listings is None else listings
        access, forge = credentials.open_access(), forges.guessed(place.remote)
        name = f"{locating.shown(remotes.parse(self.repository.url))} {tag.name}"
        if place.commit:
            return Source(place.remote, access, place.commit, place.commit, forge, place.folder, name)
        key = locating.shown(place.remote)
        if key not in listings:
            with locations_away.asking(place.remote, is_listing=True):
                listings[key] = git_calls.listed(self.repository.pk, place.remote, access)
        commit = _commit_in(listings[key], place.ref)
        if not commit:
            raise GitFailed(
                "not_pinned",
                f"The location that the registry gives has the ref {place.ref[:80]!r}, expected a tag of {key} or a "
                "full commit id: a branch changes at any time.",
                hint=locations.HINT,
                is_final=True,
            )
        return Source(place.remote, access, f"{forges.TAGS}{place.ref}", commit, forge, place.folder, name)

    def pinned(self, tag: Tag) -> Source:
        with _failures_told():
            held = self._module.held_back(tag, timezone.now())
        if held:
            raise Decided(*_verdict_of(held), held.text)
        found = self.source_of(tag)
        _pin(tag, found.commit)
        return found

    def fetching(self, source: Source) -> AbstractContextManager[None]:
        return locations_away.asking(source.remote)

    def is_over(self, failed: GitFailed) -> bool:
        """Each version names its own place."""
        return failed.is_final or failed.code in refusals.OF_COMMIT

    def is_of(self, tag: Tag, facts: Mapping[str, Any]) -> bool:
        return facts.get("registry") == f"{locating.shown(remotes.parse(self.repository.url))} {tag.name}"

    def is_from(self, tag: Tag, facts: Mapping[str, Any]) -> bool:
        return facts.get("commit") == tag.commit and self.is_of(tag, facts)

    def is_made(self, tag: Tag, release: Release) -> bool:
        """Its commit is known once it was fetched, and the registry names the folder."""
        return self.is_of(tag, release.origin.facts)

    @property
    def _address(self) -> str:
        return self.repository.url.removeprefix("https://")

    @property
    def _module(self) -> Module:
        """Raises GitFailed if no room reads registries."""
        found = other_registries.modules.named(self._address)
        if found is None:
            raise GitFailed("upstream_off", f"{self._address} is not mirrored.", hint="Ask an operator.")
        return found


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions that the registry lists, and the commits that differ from the published ones, by version."""

    offer: Offer
    commits: dict[str, str]

    def __str__(self) -> str:
        return f"{len(self.offer.versions):,} versions"

    def matched(self, row: GitRepository, now: datetime) -> tuple[list[Ref], Callable[[Ref], list[TagMatch]]]:
        rows = {tag.name: tag for tag in Tag.objects.filter(repository=row).order_by("-seen_at", "-pk")}
        rules = rulebook.of(row)
        is_first = row.fetched_at is None

        def match(ref: Ref) -> list[TagMatch]:
            return [
                self._matched(one, ref, rows.get(ref.name), now, is_first)
                for one in tag_matching.match_rules(ref, rules)
            ]

        known = {name: rows[name].commit if name in rows else "" for name in self.offer.versions}
        return [Ref(name, self.commits.get(name, commit)) for name, commit in known.items()], match

    def _matched(self, one: TagMatch, ref: Ref, row: Tag | None, now: datetime, is_first: bool) -> TagMatch:  # noqa: FBT001
        if row is not None and row.verdict == Verdict.MOVED and row.release_id is None:
            return replace(one, verdict=Verdict.MOVED, code=MOVED, reason=row.reason, known_since=row.known_since)
        known_since, held = self.offer.standing_of(ref.name, row, now, is_first=is_first)
        one = replace(one, known_since=known_since)
        if held is None or one.verdict != Verdict.WAITING:
            return one
        verdict, code = _verdict_of(held)
        return replace(one, verdict=verdict, code=code, reason=held.text)


@dataclass(frozen=True, slots=True)
class _Recheck:
    """Finds published versions that lead to another commit now. What cannot be asked today is asked another day."""

    place: RegistryPlace
    listings: dict[str, Listing] = field(default_factory=dict)

    def commits(self, found: Iterable[str]) -> dict[str, str]:
        repository = self.place.repository
        rows = Tag.objects.filter(repository=repository, name__in=list(found)).exclude(published_commit="")
        made = {row.name: row for row in rows.select_related("release__origin")}
        asked = random.sample(sorted(made), min(RECHECKED, len(made)))
        commits: dict[str, str] = {}
        for name in asked:
            try:
                commits[name] = self.place.source_of(made[name], self.listings).commit
            except GitFailed as failed:
                log.warning(
                    "registry_version_not_rechecked",
                    module=repository.url.removeprefix("https://"),
                    version=name,
                    code=failed.code,
                )
        # Their Git repositories were listed by that, which says where all other tags are.
        for name in made.keys() - set(asked):
            commit = self._commit_by_origin(made[name])
            if commit:
                commits[name] = commit
        return commits

    def _commit_by_origin(self, row: Tag) -> str:
        origin = getattr(row.release, "origin", None)
        facts = origin.facts if origin is not None else {}
        listing = self.listings.get(facts.get("repository", ""))
        ref = str(facts.get("ref", "")).removeprefix(forges.TAGS)
        return _commit_in(listing, ref) if listing is not None and ref else ""


def _verdict_of(held: HeldBack) -> tuple[Verdict, str]:
    return (Verdict.WAITING, COOLING_DOWN) if held.is_temporary else (Verdict.IGNORED, POLICY)


def _commit_in(listing: Listing, tag: str) -> str:
    return next((ref.commit for ref in listing.tags if ref.name == tag and ref.is_text), "")


def _pin(tag: Tag, commit: str) -> None:
    """Write the commit where none was written before. The lock of the repository keeps listings from writing theirs."""
    with transaction.atomic():
        row_locks.locked(tag.repository_id)
        if not Tag.objects.filter(pk=tag.pk, commit="").update(commit=commit):
            tag.refresh_from_db(fields=["commit"])
        else:
            tag.commit = commit
    if tag.commit != commit:
        text = (
            f"The registry now points to commit {commit}. This version had commit {tag.commit} at first, and "
            "is not published from another one. Ask its authors what happened."
        )
        raise Decided(Verdict.MOVED, MOVED, text, found=commit)


@contextmanager
def _failures_told() -> Iterator[None]:
    try:
        yield
    except NotOffered as problem:
        raise GitFailed(problem.code, str(problem), hint=problem.hint, is_final=problem.is_final) from None
