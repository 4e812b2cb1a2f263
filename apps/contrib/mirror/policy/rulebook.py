"""Change the rules of an upstream, and say beforehand what that would hide or show."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from apps.accounts.access import operators
from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import Effect, PolicyException, PolicyRule, Upstream, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.policy.evaluation import (
    COLUMNS,
    LONGEST_COOLDOWN_DAYS,
    AddressPolicy,
    Decision,
    Policy,
    exceptions_of,
    platforms_of,
)
from apps.lib.constraints import Constraint
from apps.lib.errors import Conflict, Invalid, existing

MAX_RULES = 200
MAX_PLATFORMS = 30
MAX_SHOWN = 500  # changed versions that a dry run names one by one
CHUNK = 1000
_PATTERN = re.compile(r"\*|(?:\*|[0-9a-z][0-9a-z_-]{0,63})/(?:\*|[0-9a-z][0-9a-z_-]{0,63})", re.ASCII)
_PLATFORM = re.compile(r"[a-z0-9]{1,20}_[a-z0-9]{1,20}", re.ASCII)
_FIELDS = ("pattern", "effect", "days", "versions", "platforms", "advisories_only", "reason")


def place(viewer: Viewer, host: str, *, changes: bool = False) -> Upstream:
    """Return the upstream for staff who may view it, with `changes` for those who may operate it.

    Raises RoleRequired or NotFound.
    """
    operators.require_everywhere(viewer, upstreams.OPERATE if changes else upstreams.VIEW)
    found = upstreams.of_host(host)
    return existing(found, f"There is no mirrored registry {host[:80]!r}.", hint="See the list of mirrored registries.")


def rules_of(upstream: Upstream) -> list[PolicyRule]:
    return rules_by_upstream([upstream])[upstream.pk]


def rules_by_upstream(upstreams: Iterable[Upstream]) -> dict[int, list[PolicyRule]]:
    """Return the rules of each in their order, by the number of its row."""
    found: dict[int, list[PolicyRule]] = {row.pk: [] for row in upstreams}
    rows = PolicyRule.objects.filter(upstream__in=list(found)).select_related("created_by")
    for rule in rows.order_by("position", "pk"):
        found[rule.upstream_id].append(rule)
    return found


def as_fields(rule: PolicyRule) -> dict[str, Any]:
    """Return what people say of a rule; `proposed` reads it."""
    return {name: getattr(rule, name) for name in _FIELDS}


def mark_of(upstream: Upstream) -> str:
    """Return a short digest of the policy as it is saved, so that a form can say which one it changes."""
    state = [upstream.cooldown_days, [as_fields(rule) for rule in rules_of(upstream)]]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()[:16]


def proposed(upstream: Upstream, rules: Sequence[dict[str, Any]]) -> list[PolicyRule]:
    """Return unsaved rows. Raises Invalid, naming the rule."""
    if len(rules) > MAX_RULES:
        raise Invalid(f"Found {len(rules)} rules, expected at most {MAX_RULES}.", hint="Join some of them.")
    found = []
    for number, fields in enumerate(rules, 1):
        try:
            found.append(_row(upstream, number, fields))
        except Invalid as error:
            raise Invalid(f"Rule {number}: {error}", hint=error.hint) from None
    return found


def _row(upstream: Upstream, number: int, fields: dict[str, Any]) -> PolicyRule:
    pattern = str(fields.get("pattern", "")).strip().lower()
    if not _PATTERN.fullmatch(pattern):
        raise Invalid(
            f"found pattern {pattern[:100]!r}, expected namespace/type, where * is any name.",
            hint="Write hashicorp/*, */random, hashicorp/random or *.",
        )
    effect = str(fields.get("effect", ""))
    if effect not in Effect.values:
        raise Invalid(f"found effect {effect[:40]!r}, expected one of {', '.join(Effect.values)}.")
    days = days_in(fields.get("days") or 0)
    if effect == Effect.COOL_DOWN and not days:
        raise Invalid(
            "a cool-down of 0 days holds nothing back.", hint="Choose the effect allow, or enter a number of days."
        )
    if effect in (Effect.ALLOW, Effect.DENY) and days:
        raise Invalid(f"the effect {effect} takes no days.", hint="Choose the effect cool_down, or leave out the days.")
    versions = " ".join(str(fields.get("versions") or "").split())
    if len(versions) > 200:  # noqa: PLR2004 - the column's length
        raise Invalid("the range of versions has more than 200 characters.", hint="Write two rules.")
    if versions:
        Constraint.parse(versions)
    reason = " ".join(str(fields.get("reason") or "").split())
    if len(reason) > 300:  # noqa: PLR2004
        raise Invalid("the reason has more than 300 characters.", hint="Shorten it.")
    return PolicyRule(
        upstream=upstream,
        position=number,
        pattern=pattern,
        effect=effect,
        days=days,
        versions=versions,
        platforms=_platforms_in(fields.get("platforms") or []),
        advisories_only=bool(fields.get("advisories_only")),
        reason=reason,
    )


def _platforms_in(found: Sequence[object]) -> list[str]:
    platforms = sorted({str(one).strip().lower() for one in found})
    if len(platforms) > MAX_PLATFORMS:
        raise Invalid(f"found {len(platforms)} platforms, expected at most {MAX_PLATFORMS}.")
    for one in platforms:
        if not _PLATFORM.fullmatch(one):
            raise Invalid(f"found platform {one[:60]!r}, expected one such as linux_amd64.")
    return platforms


def days_in(found: object) -> int:
    """Raises Invalid for what is not a number of days."""
    text = str(found).strip()
    if not (text.isascii() and text.isdecimal()) or len(text) > 6 or int(text) > LONGEST_COOLDOWN_DAYS:  # noqa: PLR2004
        raise Invalid(f"found {text[:40]!r} days, expected a number from 0 to {LONGEST_COOLDOWN_DAYS}.")
    return int(text)


@transaction.atomic
def change(
    upstream: Upstream,
    *,
    rules: Sequence[dict[str, Any]],
    actor: Viewer,
    cooldown_days: int | None = None,
    seen: str = "",
) -> None:
    """Replace all rules, and the default cool-down if it is given. Every ready answer ends.

    `seen` is the mark of the policy that was edited: raises Conflict if it is another one by now. Raises Invalid.
    """
    rows = proposed(upstream, rules)
    # Whoever comes second waits here, and sees what the first one wrote.
    current = Upstream.objects.select_for_update().get(pk=upstream.pk)
    if seen and seen != mark_of(current):
        raise Conflict(
            f"The policy of {upstream.host} was changed meanwhile.", hint="Load the page again, and repeat your change."
        )
    before = {"rules": [as_fields(rule) for rule in rules_of(current)], "cooldown_days": current.cooldown_days}
    days = current.cooldown_days if cooldown_days is None else days_in(cooldown_days)
    after = {"rules": [as_fields(rule) for rule in rows], "cooldown_days": days}
    if after == before:
        return
    kept = {json.dumps(as_fields(rule)): rule for rule in PolicyRule.objects.filter(upstream=current)}
    for row in rows:
        # A rule that stays as it is keeps its author.
        same = kept.get(json.dumps(as_fields(row)))
        row.created_by_id = same.created_by_id if same else actor.user_id
    PolicyRule.objects.filter(upstream=current).delete()
    PolicyRule.objects.bulk_create(rows)
    Upstream.objects.filter(pk=current.pk).update(cooldown_days=days)
    upstream.cooldown_days = days
    actor.record(Kind.UPSTREAM_POLICY_CHANGED, subject=upstream.host, before=before, after=after)


# --- The dry run ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """One version, or some of its platforms, that a change would hide or show."""

    provider: UpstreamProvider
    version: UpstreamVersion
    platforms: tuple[str, ...]  # empty: the whole version
    before: Decision
    after: Decision


@dataclass(slots=True)
class DryRun:
    """`changes` has at most MAX_SHOWN of those that the totals count."""

    changes: list[Change] = field(default_factory=list)
    providers: int = 0
    versions: int = 0
    hidden: int = 0
    shown: int = 0
    hidden_platforms: int = 0
    shown_platforms: int = 0

    @property
    def total(self) -> int:
        return self.hidden + self.shown + self.hidden_platforms + self.shown_platforms

    @property
    def is_complete(self) -> bool:
        return len(self.changes) == self.total


def dry_run(
    upstream: Upstream,
    *,
    now: datetime,
    rules: Sequence[dict[str, Any]] | None = None,
    cooldown_days: int | None = None,
) -> DryRun:
    """Compare the saved policy with a proposed one for every known version. What is left out stays as it is.

    Changes nothing. Four queries, and one for each thousand versions. Raises Invalid.
    """
    rows = rules_of(upstream) if rules is None else proposed(upstream, rules)
    days = upstream.cooldown_days if cooldown_days is None else days_in(cooldown_days)
    before, after = Policy.of(upstream), Policy.proposed(upstream, rows, days)
    exceptions = exceptions_of(PolicyException.objects.filter(version__provider__upstream=upstream), now=now)
    providers = UpstreamProvider.objects.filter(upstream=upstream).only("upstream", "namespace", "type")
    known = {one.pk: one for one in providers}
    by_provider = {pk: (before.for_address(one.address), after.for_address(one.address)) for pk, one in known.items()}
    listed = UpstreamVersion.objects.filter(provider__upstream=upstream).offered().only(*COLUMNS)
    run = DryRun(providers=len(known))
    for version in listed.order_by("provider__namespace", "provider__type", "-sort_key").iterator(CHUNK):
        old, new = by_provider[version.provider_id]
        run.versions += 1
        exception = exceptions.get(version.pk)
        was, will = (one.decide(version, now=now, exception=exception) for one in (old, new))
        provider = known[version.provider_id]
        if was.is_visible != will.is_visible:
            run.shown += will.is_visible
            run.hidden += was.is_visible
            _add(run, Change(provider, version, (), was, will))
        elif was.is_visible and exception is None:
            _compare_platforms(run, provider, version, (old, new), now)
    return run


def _compare_platforms(
    run: DryRun,
    provider: UpstreamProvider,
    version: UpstreamVersion,
    policies: tuple[AddressPolicy, AddressPolicy],
    now: datetime,
) -> None:
    """For a version that stays listed: a rule may hide or show some of its platforms."""
    old, new = policies
    if not old.has_platform_rules and not new.has_platform_rules:
        return
    groups: dict[tuple[bool, str], tuple[list[str], Decision, Decision]] = {}
    for platform in sorted(platforms_of(version)):
        was, will = (one.decide(version, now=now, platform=platform) for one in policies)
        if was.is_visible != will.is_visible:
            group = groups.setdefault((will.is_visible, will.rule), ([], was, will))
            group[0].append(platform)
    for (is_shown, _), (platforms, was, will) in groups.items():
        run.shown_platforms += is_shown
        run.hidden_platforms += not is_shown
        _add(run, Change(provider, version, tuple(sorted(platforms)), was, will))


def _add(run: DryRun, change: Change) -> None:
    if len(run.changes) < MAX_SHOWN:
        run.changes.append(change)
