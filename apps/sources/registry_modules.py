"""A module of another registry as a repository: its versions are the tags, and policy decides which are published.

The registry says where a version is, and is asked under the rules of its upstream. That place is a Git repository,
which is fetched as every repository is, without a credential. A version keeps the commit with which it was first
fetched: another one later raises an alarm, and is not published.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import Invalid
from apps.lib.git import locations, remotes
from apps.lib.git.access import GitFailed
from apps.lib.git.refs import Listing, Ref
from apps.lib.git.remotes import Remote
from apps.sources import credentials, exchanges, forges, judging, locating, locations_away, locking, rulebook
from apps.sources.judging import Judged
from apps.sources.locating import Source
from apps.sources.locations_away import LocationFailed
from apps.sources.models import COOLING_DOWN, Forge, GitRepository, Tag, Verdict
from apps.sources.rulebook import CheckedRule
from apps.upstream import modules
from apps.upstream.errors import FetchFailed
from apps.upstream.modules import HostedModule, KnownVersion, ListedVersion
from apps.upstream.policy import Decision

# The tag pattern of its one rule: the tags are the versions themselves.
PATTERN = "{version}"
# Published versions of which the registry is asked at each listing whether they are still where they were.
RECHECKED = 10
POLICY, MOVED = "policy", "moved"

log = structlog.get_logger("larder.sources")


class Decided(Exception):
    """The version is not published, or not yet. `found`: the commit that it has now, if that is another one."""

    def __init__(self, verdict: Verdict, code: str, text: str, *, found: str = "") -> None:
        super().__init__(text)
        self.verdict, self.code, self.found = verdict, code, found


# --- Connecting -------------------------------------------------------------------------------------------------------


def asked_for(url: str, forge: str) -> HostedModule | None:
    """Return the module that a person names, by its address or its URL; None for a Git repository. Raises Invalid."""
    if forge not in ("", Forge.REGISTRY):
        return None
    module = modules.parse_address(url.strip().removeprefix("https://") if forge else url)
    if module is None and forge:
        raise Invalid(
            f"{url[:120]!r} is not the address of a module in a registry.",
            hint="Write it such as registry.opentofu.org/terraform-aws-modules/vpc/aws.",
        )
    return module


def remote_of(module: HostedModule, viewer: Viewer) -> Remote:
    """Return its URL as rows have it. Raises NotFound and Conflict where its registry is not mirrored."""
    modules.require_mirrored(viewer, module)
    return remotes.parse(f"https://{module}")


def rules_of(module: HostedModule, given: Iterable[Mapping[str, Any]]) -> list[CheckedRule]:
    """Return its one rule, which people may give to name the module otherwise. Raises Invalid."""
    own = {"tag": PATTERN, "folder": "", "module": f"{module.name}/{module.system}".lower()}
    found = rulebook.checked(list(given) or [own])
    if len(found) > 1 or (found[0].tag, found[0].folder) != (PATTERN, ""):
        raise Invalid(
            "A module of another registry has one rule, whose tag pattern is {version}, without a folder.",
            hint=f'Leave the rules out, or write {{"tag": "{PATTERN}", "module": "vpc/aws"}} to rename the module.',
        )
    return found


def check_credential(given: Mapping[str, Any] | None) -> None:
    """Raises Invalid."""
    if given and given.get("kind") != "none":
        raise Invalid(
            "A module of another registry takes no credential.",
            hint="The registry's own token is set by operators, on its upstream.",
        )


def module_of(repository: GitRepository) -> HostedModule:
    remote = remotes.parse(repository.url)
    namespace, name, system = remote.path.strip("/").split("/")
    return HostedModule(remote.host, namespace, name, system)


def listed_version(module: HostedModule, sort_key: bytes) -> str:
    """Return the version as a connected repository lists it, or "". Addresses are compared without case."""
    rows = Tag.objects.filter(repository__forge=Forge.REGISTRY, repository__ended_at=None, sort_key=sort_key)
    found = rows.filter(repository__url__iexact=f"https://{module}").order_by("pk")
    return found.values_list("version", flat=True).first() or ""


# --- Listing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Versions:
    """What the registry lists, and other commits than those that were published, by version."""

    listed: dict[str, ListedVersion]
    commits: dict[str, str]
    decide: Callable[[KnownVersion, datetime], Decision]

    def tags(self, repository: GitRepository, now: datetime) -> tuple[list[Ref], Callable[[Ref], list[Judged]]]:
        """Return them as tags, and what judges them. In the transaction that has locked the repository."""
        rows = {row.name: row for row in Tag.objects.filter(repository=repository).order_by("-seen_at", "-pk")}
        rules = rulebook.of(repository)
        is_first = repository.fetched_at is None

        def judge(ref: Ref) -> list[Judged]:
            return [self._judged(one, ref, rows.get(ref.name), now, is_first) for one in judging.judge(ref, rules)]

        found = []
        for name in self.listed:
            known = rows[name].commit if name in rows else ""
            found.append(Ref(name, self.commits.get(name, known)))
        return found, judge

    def known_since(self, name: str, row: Tag | None, now: datetime, is_first: bool) -> datetime | None:  # noqa: FBT001
        """From when its age counts, as that of a provider's version does; None: it is old."""
        said, seen_at = self.listed[name].published_at, row.seen_at if row is not None else now
        if said is not None:
            return min(said, seen_at if row is None or row.known_since is None else row.known_since)
        if row is not None:
            return row.known_since
        return None if is_first and self.listed[name].is_old else now

    def _judged(self, one: Judged, ref: Ref, row: Tag | None, now: datetime, is_first: bool) -> Judged:  # noqa: FBT001
        if row is not None and row.verdict == Verdict.MOVED and row.release_id is None:
            return replace(one, verdict=Verdict.MOVED, code=MOVED, reason=row.reason, known_since=row.known_since)
        known_since = self.known_since(ref.name, row, now, is_first)
        one = replace(one, known_since=known_since)
        if one.verdict != Verdict.WAITING:
            return one
        version = known_version(ref.name, one.sort_key, row.seen_at if row is not None else now, known_since)
        held = _held(self.decide(version, now))
        return replace(one, verdict=held.verdict, code=held.code, reason=str(held)) if held else one


def listed(repository: GitRepository) -> Versions:
    """Ask the registry, and where some published versions are now. Raises GitFailed. No transaction may be open."""
    module = module_of(repository)
    try:
        upstream = modules.upstream_of(module)
        known = set(repository.tags.values_list("name", flat=True))
        found = {one.version: one for one in modules.listed(upstream, module, known=known)}
    except FetchFailed as failed:
        raise _git_failed(failed) from None
    if not found and repository.fetched_at is None:
        raise GitFailed("no_versions", f"{module} has no versions.", hint="Check the spelling of the address.")
    return Versions(found, _Recheck(repository, module).commits(found), modules.decider(upstream, module))


def preview(repository: GitRepository) -> dict[str, Any]:
    """Return what `previewing` shows of the versions. Raises GitFailed."""
    found, now = listed(repository), timezone.now()
    rows = {row.name: row for row in repository.tags.order_by("-seen_at", "-pk")}
    shown = []
    for name, one in found.listed.items():
        row = rows.get(name)
        known_since = found.known_since(name, row, now, repository.fetched_at is None)
        held = _held(found.decide(known_version(name, one.sort_key, row.seen_at if row else now, known_since), now))
        shown.append({"tag": name, "commit": row.commit if row else "", "held": str(held or "")})
    rules = [rule.as_json() for rule in rulebook.of(repository)]
    return {"suggested": rules, "refs": shown}


def known_version(version: str, sort_key: bytes, seen_at: datetime, known_since: datetime | None) -> KnownVersion:
    """A version whose age counts from another time than when it was seen has that from the registry."""
    is_dated = known_since is not None and known_since != seen_at
    return KnownVersion(
        version, sort_key, seen_at, known_since if is_dated else None, was_in_first_list=known_since is None
    )


@dataclass(slots=True)
class _Recheck:
    """Finds published versions that lead to another commit now. What cannot be asked today is asked another day."""

    repository: GitRepository
    module: HostedModule
    listings: dict[str, Listing] = field(default_factory=dict)

    def commits(self, found: Mapping[str, ListedVersion]) -> dict[str, str]:
        rows = Tag.objects.filter(repository=self.repository, name__in=list(found)).exclude(published_commit="")
        made = {row.name: row for row in rows.select_related("release__origin")}
        asked = random.sample(sorted(made), min(RECHECKED, len(made)))
        commits: dict[str, str] = {}
        for name in asked:
            try:
                commits[name] = _place(self.repository.pk, self.module, name, self.listings).commit
            except (GitFailed, FetchFailed) as failed:
                log.warning("registry_version_not_rechecked", module=str(self.module), version=name, code=failed.code)
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


# --- Publishing -------------------------------------------------------------------------------------------------------


def source_of(tag: Tag) -> Source:
    """Return where the version is, and pin its commit. Raises GitFailed and Decided. No transaction may be open."""
    module = module_of(tag.repository)
    try:
        upstream = modules.upstream_of(module)
        known = known_version(tag.version, bytes(tag.sort_key), tag.seen_at, tag.known_since)
        if held := _held(modules.decider(upstream, module)(known, timezone.now())):
            raise held
        found = _place(tag.repository_id, module, tag.version, {})
    except FetchFailed as failed:
        raise _git_failed(failed) from None
    _pin(tag, found.commit)
    return found


def raise_alarm(tag: Tag, decided: Decided) -> None:
    """Of a version that was never published, in the caller's transaction."""
    record(
        Kind.GIT_TAG_MOVED,
        actor_id=None,
        subject=tag.repository.namespace.name,
        release=None,
        repository=tag.repository_id,
        tag=tag.name,
        known=tag.commit,
        found=decided.found,
        reason=f"{tag.name} of {tag.repository.url}: {decided}"[:500],
    )
    log.warning("git_tags_alarm", repository=tag.repository_id, kind=str(Kind.GIT_TAG_MOVED), tags=[tag.name])


def place_of(repository: GitRepository, version: str) -> Source:
    """Return where the version is now; nothing is written. Raises GitFailed."""
    try:
        return _place(repository.pk, module_of(repository), version, {})
    except FetchFailed as failed:
        raise _git_failed(failed) from None


def _place(number: int, module: HostedModule, version: str, listings: dict[str, Listing]) -> Source:
    """Ask the registry for a location, and its Git repository for the commit.

    `number` is that of the connected repository, for the log. `listings` are those that are known.
    """
    upstream = modules.upstream_of(module)
    try:
        text = modules.location_of(upstream, module, version)
    except FetchFailed as failed:
        problem = _git_failed(failed)
        raise LocationFailed(problem, problem.code, hint=problem.hint, is_final=problem.is_final) from None
    place = locations.parse(text)
    access = credentials.open_access()
    if place.commit:
        return Source(place.remote, access, place.commit, place.commit, place.folder)
    key = locating.shown(place.remote)
    if key not in listings:
        with locations_away.asking(place.remote, is_listing=True):
            listings[key] = exchanges.listed(number, place.remote, access)
    commit = _commit_in(listings[key], place.ref)
    if not commit:
        raise GitFailed(
            "not_pinned",
            f"The location that the registry gives has the ref {place.ref[:80]!r}, expected a tag of {key} or a full "
            "commit id: a branch changes at any time.",
            hint=locations.HINT,
            is_final=True,
        )
    return Source(place.remote, access, f"{forges.TAGS}{place.ref}", commit, place.folder)


def _commit_in(listing: Listing, tag: str) -> str:
    return next((ref.commit for ref in listing.tags if ref.name == tag and ref.is_text), "")


def _pin(tag: Tag, commit: str) -> None:
    """Write the commit where none was written before. The lock of the repository keeps listings from writing theirs."""
    with transaction.atomic():
        locking.locked(tag.repository_id)
        if not Tag.objects.filter(pk=tag.pk, commit="").update(commit=commit):
            tag.refresh_from_db(fields=["commit"])
        else:
            tag.commit = commit
    if tag.commit != commit:
        text = (
            f"The registry leads to commit {commit} now. This version had commit {tag.commit} at first, and "
            "is not published from another one. Ask its authors what happened."
        )
        raise Decided(Verdict.MOVED, MOVED, text, found=commit)


def _held(decision: Decision) -> Decided | None:
    if decision.is_visible:
        return None
    if decision.available_at is not None:
        return Decided(Verdict.WAITING, COOLING_DOWN, f"{decision.sentence} It is published then.")
    return Decided(Verdict.IGNORED, POLICY, decision.sentence)


def _git_failed(failed: FetchFailed) -> GitFailed:
    return GitFailed(
        failed.code,
        f"{failed.url}: {failed.message}.",
        hint="Operators see how the registry does on the page of its upstream.",
        is_final=failed.is_final,
    )
