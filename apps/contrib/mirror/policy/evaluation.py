"""Decide which versions of other registries clients see: rules, exceptions, advisories, and otherwise the age.

For each platform of a version the first rule whose conditions all match decides; without one the upstream's cool-down
does. A version is listed while at least one of its platforms is visible. An exception goes before every rule. Trust is
another question, which no rule answers: see `trust.py`.

The age counts from the earliest date that the registry states, or from when Larder first saw the version. Without a
date, what the first list had below its highest version counts as old (`UpstreamVersion.known_since`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from django.db.models import BigIntegerField, DateTimeField, Max, QuerySet

from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.models import (
    Effect,
    PolicyException,
    PolicyRule,
    Upstream,
    UpstreamProvider,
    UpstreamVersion,
    Verdict,
)
from apps.contrib.mirror.policy import advisories
from apps.contrib.mirror.policy.advisories import Advisory
from apps.jobs.compiled_queries import CompiledQuery, Slot
from apps.lib import versions
from apps.lib.constraints import Constraint
from apps.lib.versions import Version

# What decisions read of a version: neither its sums nor its signature.
COLUMNS = (
    "provider",
    "version",
    "sort_key",
    "platforms",
    "is_listed",
    "absence",
    "first_seen_at",
    "published_at",
    "was_in_first_list",
    "verdict",
)
LONGEST_COOLDOWN_DAYS = 3650
OTHER = "other"  # the platforms of a version that no rule names


@dataclass(frozen=True, slots=True)
class Decision:
    """`available_at`: None if it is visible now, or if no date will show it. `until`: another decision may apply from
    then on without any change; ready answers end there.
    """

    is_visible: bool
    rule: str
    available_at: datetime | None
    sentence: str
    until: datetime | None = None


class Rule:
    """A row, or a proposed one that was never saved, ready to match."""

    def __init__(self, row: PolicyRule, number: int) -> None:
        self.row, self.number = row, number
        self.platforms = frozenset(row.platforms)
        self._namespace, _, self._type = row.pattern.partition("/")
        self._range = Constraint.parse(row.versions) if row.versions else None

    def matches_address(self, address: str) -> bool:
        if self.row.pattern == "*":
            return True
        namespace, _, type_ = address.partition("/")
        return self._namespace in ("*", namespace) and self._type in ("*", type_)

    def matches(self, version: Version, named: Callable[[], Sequence[Advisory]], platform: str) -> bool:
        """For an address that matches."""
        if self.platforms and platform not in self.platforms:
            return False
        if self._range is not None and not self._range.covers(version):
            return False
        return not self.row.advisories_only or bool(named())

    def __str__(self) -> str:
        """Say what it does: `rule 2: cool-down of 7 days for hashicorp/* >= 5.0`."""
        row = self.row
        what = {
            Effect.ALLOW: "allow",
            Effect.DENY: "deny",
            Effect.COOL_DOWN: f"cool-down of {days_text(row.days)} for",
            Effect.SIGNED_ONLY: "signed only" + (f", cool-down of {days_text(row.days)}" if row.days else "") + " for",
        }[Effect(row.effect)]
        conditions = [row.versions] if row.versions else []
        if row.platforms:
            conditions.append(f"on {', '.join(row.platforms)}")
        if row.advisories_only:
            conditions.append("with an advisory")
        return " ".join([f"rule {self.number}:", what, row.pattern, *conditions])


@dataclass(frozen=True)
class Policy:
    """The policy of one upstream, read once or proposed."""

    host: str
    cooldown_days: int
    rules: tuple[Rule, ...]
    advisories: advisories.Index

    @classmethod
    def of(cls, upstream: Upstream) -> "Policy":
        """Return the policy as it is saved. One query."""
        return cls.proposed(upstream, _RULES(upstream=upstream.pk), upstream.cooldown_days)

    @classmethod
    def proposed(cls, upstream: Upstream, rows: Iterable[PolicyRule], cooldown_days: int) -> "Policy":
        rules = tuple(Rule(row, number) for number, row in enumerate(rows, 1))
        return cls(upstream.host, cooldown_days, rules, advisories.index())

    def for_address(self, address: str) -> "AddressPolicy":
        rules = tuple(rule for rule in self.rules if rule.matches_address(address))
        return AddressPolicy(self, address, rules, self.advisories.of(self.host, address))


@dataclass(frozen=True)
class AddressPolicy:
    """The part of a policy that is about one provider."""

    policy: Policy
    address: str
    rules: tuple[Rule, ...]
    advisories: tuple[Advisory, ...]

    @property
    def has_platform_rules(self) -> bool:
        return bool(self._named_platforms)

    @cached_property
    def _named_platforms(self) -> frozenset[str]:
        return frozenset().union(*(rule.platforms for rule in self.rules))

    def decide(
        self, row: UpstreamVersion, *, now: datetime, exception: PolicyException | None = None, platform: str = ""
    ) -> Decision:
        """For one platform, or for the version: then the best of its platforms counts."""
        if exception is not None:
            rule = f"exception until {moment(exception.expires_at)}: {exception.reason}"
            sentence = f"{self._name(row)} is let through by an {rule}."
            return Decision(True, rule, None, sentence, exception.expires_at)  # noqa: FBT003
        if row.is_gone:
            sentence = f"{self._name(row)} was removed by its registry, which staff accepted."
            return Decision(False, "removed by its registry", None, sentence)  # noqa: FBT003
        version, key = versions.parse(row.version), bytes(row.sort_key)
        found: list[Advisory] = []
        is_read = False

        def named() -> list[Advisory]:
            nonlocal is_read
            if not is_read:
                found.extend(one for one in self.advisories if one.names(key))
                is_read = True
            return found

        if platform:
            return self._for_platform(row, version, named, platform, now)
        if not self._named_platforms:
            return self._for_platform(row, version, named, OTHER, now)
        listed = platforms_of(row)
        # Platforms that no rule names are all alike. A list without platforms may have any.
        alike = {one if one in self._named_platforms else OTHER for one in listed} or {OTHER, *self._named_platforms}
        decisions = [self._for_platform(row, version, named, one, now) for one in sorted(alike)]
        untils = [one.until for one in decisions if one.until is not None]
        return replace(min(decisions, key=_rank), until=min(untils, default=None))

    def _for_platform(
        self,
        row: UpstreamVersion,
        version: Version,
        named: Callable[[], Sequence[Advisory]],
        platform: str,
        now: datetime,
    ) -> Decision:
        rule = next((one for one in self.rules if one.matches(version, named, platform)), None)
        name = self._name(row) + (f" for {platform}" if rule and rule.platforms and platform != OTHER else "")
        if rule is None:
            days = self.policy.cooldown_days
            label = f"cool-down of {days_text(days)} (default of {self.policy.host})" if days else "no rule"
            return _by_age(row, days, label, name, now)
        effect = Effect(rule.row.effect)
        why = f" ({rule.row.reason})" if rule.row.reason else ""
        if effect == Effect.ALLOW:
            return Decision(True, str(rule), None, f"{name} is allowed by {rule}{why}.")  # noqa: FBT003
        if effect == Effect.DENY:
            ids = ", ".join(one.id for one in named()[:5]) if rule.row.advisories_only else ""
            cause = f"; named by {ids}" if ids else ""
            return Decision(False, str(rule), None, f"{name} is refused by {rule}{why}{cause}.")  # noqa: FBT003
        if effect == Effect.SIGNED_ONLY and row.verdict == Verdict.NO_KEY:
            sentence = f"{name} is refused by {rule}{why}: the registry names no key for it."
            return Decision(False, str(rule), None, sentence)  # noqa: FBT003
        # What is not verified yet has no verdict. Its record is fetched before any of its bytes, and then decides.
        return _by_age(row, rule.row.days, f"{rule}{why}", name, now)

    def _name(self, row: UpstreamVersion) -> str:
        return f"{self.policy.host}/{self.address} {row.version}"


def _by_age(row: UpstreamVersion, days: int, rule: str, name: str, now: datetime) -> Decision:
    since = row.known_since
    available_at = since + timedelta(days=days) if since is not None and days else None
    if available_at is None or available_at <= now:
        return Decision(True, rule, None, f"{name} is old enough for {rule}.")  # noqa: FBT003
    how = "published" if row.published_at == since else "first seen"
    sentence = f"{name} is held back until {moment(available_at)} by {rule}; it was {how} on {moment(since)}."
    return Decision(False, rule, available_at, sentence, available_at)  # noqa: FBT003


def platforms_of(row: UpstreamVersion) -> set[str]:
    """Return the platforms as listed: `linux_amd64`."""
    return {f"{os}_{arch}" for os, arch in row.platforms}


def _rank(decision: Decision) -> tuple[bool, bool, float]:
    """The visible first, then what comes soonest, last what no date shows."""
    at = decision.available_at
    return (not decision.is_visible, at is None, at.timestamp() if at else 0)


# --- What the edges ask -----------------------------------------------------------------------------------------------


def decisions(provider: UpstreamProvider, *, now: datetime) -> dict[UpstreamVersion, Decision]:
    """Decide about all versions that the registry lists or that are stored, highest first, in three queries.

    Rows come without sums and signature.
    """
    policy = Policy.of(provider.upstream).for_address(provider.address)
    exceptions = exceptions_of(PolicyException.objects.filter(version__provider=provider), now=now)
    rows = provider.versions.all().offered().only(*COLUMNS).order_by("-sort_key")
    return {row: policy.decide(row, now=now, exception=exceptions.get(row.pk)) for row in rows}


def decide(version: UpstreamVersion, *, now: datetime, platform: str = "") -> Decision:
    """Decide about one version, for one platform (`linux_amd64`) if it is named."""
    provider = version.provider
    policy = Policy.of(provider.upstream).for_address(provider.address)
    return policy.decide(version, now=now, exception=_exception_of(version, now), platform=platform)


def platform_decisions(version: UpstreamVersion, platforms: Iterable[str], *, now: datetime) -> dict[str, Decision]:
    """Decide about several platforms of one version, reading the policy once."""
    provider = version.provider
    policy = Policy.of(provider.upstream).for_address(provider.address)
    exception = _exception_of(version, now)
    return {one: policy.decide(version, now=now, exception=exception, platform=one) for one in platforms}


def require_visible(version: UpstreamVersion, *, now: datetime, platform: str = "") -> None:
    """Raise Refused with the rule and the date, if there is one.

    Call it once the record of the version is there: until then a rule "signed only" cannot know.
    """
    require(decide(version, now=now, platform=platform))


def require(found: Decision) -> None:
    """Raise Refused for what clients may not install."""
    if not found.is_visible:
        raise Refused(found.sentence, hint="An operator can allow one version, with a reason.")


def longest_days(upstream: Upstream) -> int:
    """Return the longest of its cool-downs, 0 if nothing looks at the age of a version."""
    days = PolicyRule.objects.filter(upstream=upstream).aggregate(most=Max("days"))["most"]
    return max(upstream.cooldown_days, days or 0)


def next_change(found: Iterable[Decision]) -> datetime | None:
    """Return the first moment at which one of these may become another without any change."""
    return min((one.until for one in found if one.until is not None), default=None)


def exceptions_of(rows: QuerySet[PolicyException], *, now: datetime) -> dict[int, PolicyException]:
    """Return those in force by the number of their version, the one that lasts longest. One query."""
    return {row.version_id: row for row in _in_force(rows, now) if row.version_id is not None}


def exceptions_of_module(upstream: Upstream, module: str, *, now: datetime) -> dict[bytes, PolicyException]:
    """Return the exceptions like `exceptions_of`, by the sort key of the version. `module`: namespace/name/system."""
    rows = _in_force(PolicyException.objects.filter(upstream=upstream, module=module.lower()), now)
    return {versions.sort_key(row.module_version): row for row in rows}


def _in_force(rows: QuerySet[PolicyException], now: datetime) -> QuerySet[PolicyException]:
    """Of two for one version, the one that lasts longest comes last."""
    return rows.filter(withdrawn_at=None, expires_at__gt=now).order_by("expires_at", "pk")


def _exception_of(version: UpstreamVersion, now: datetime) -> PolicyException | None:
    return next(iter(_EXCEPTIONS(version=version.pk, now=now)), None)


# Each download asks for these.
_RULES = CompiledQuery(
    lambda: PolicyRule.objects.filter(upstream=Slot("upstream", BigIntegerField())).order_by("position", "pk")
)
_EXCEPTIONS = CompiledQuery(
    lambda: PolicyException.objects.filter(
        version=Slot("version", BigIntegerField()), withdrawn_at=None, expires_at__gt=Slot("now", DateTimeField())
    ).order_by("-expires_at", "-pk")
)


def days_text(days: int) -> str:
    return "1 day" if days == 1 else f"{days} days"


def moment(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else "an unknown date"
