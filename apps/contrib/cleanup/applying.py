"""Do what a cleanup rule chooses, by the verbs of the lifecycle, each version in a transaction of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.accounts.access.gate import NOBODY, Viewer
from apps.audit.kinds import Kind as Event
from apps.contrib.cleanup import planning
from apps.contrib.cleanup.planning import Plan, PlannedVersion
from apps.lib.errors import Conflict
from apps.releases.catalogue import indexing
from apps.releases.cleanup_rules import SETTLES_AFTER, CleanupAction, CleanupRule
from apps.releases.lifecycle import verbs
from apps.releases.models import Lifecycle, Release

# Versions that one run changes: by hand in one request, by itself in one namespace and in all of them.
BY_HAND = 50
BATCH_SIZE = 100
MAX_VERSIONS = 500

log = structlog.get_logger("larder.releases")


class Ended(Conflict):
    """The rule was changed while it acted."""


@dataclass(frozen=True, slots=True)
class Outcome:
    done: Sequence[str]
    left: int


def run_due() -> int:
    """Apply the rules that act by themselves, those first that waited longest. Return how many versions changed."""
    settled = timezone.now() - SETTLES_AFTER
    due = CleanupRule.objects.filter(enabled=True, changed_at__lte=settled, namespace__deleted_at=None)
    rows = due.select_related("namespace").order_by(F("applied_at").asc(nulls_first=True), "pk")
    total = 0
    for rule in rows.iterator(chunk_size=BATCH_SIZE):
        if total >= MAX_VERSIONS:
            break
        # First of all: a rule that fails must not stop the ones behind it in every run.
        CleanupRule.objects.filter(pk=rule.pk).update(applied_at=timezone.now(), applied_count=0)
        total += len(_apply(rule, planning.plan(rule), NOBODY, min(BATCH_SIZE, MAX_VERSIONS - total)).done)
    return total


def apply_by_hand(*, rule: CleanupRule, actor: Viewer, seen: str) -> Outcome:
    """Apply it now, BY_HAND versions at most, whether it is on or not. `seen` is the digest of the plan that was read.

    Raises Conflict if the rule chooses other versions by now, or none has been set.
    """
    if rule.pk is None:
        raise Conflict(f"{rule.namespace} has no cleanup rule.", hint="Set one first.")
    plan = planning.plan(rule)
    if seen != plan.digest:
        raise Conflict("The rule now selects other versions.", hint="Read the list again, then apply it.")
    return _apply(rule, plan, actor, BY_HAND)


def _apply(rule: CleanupRule, plan: Plan, actor: Viewer, most: int) -> Outcome:
    done: list[str] = []
    going = plan.going
    for planned in going[:most]:
        try:
            done.append(_act(rule, planned, actor))
        except Ended:
            break
        except Conflict:  # somebody has changed it since the plan was made
            continue
    if done or actor.user is not None:
        _record(rule, actor, len(done))
    return Outcome(done, len(going) - len(done))


@transaction.atomic
def _act(rule: CleanupRule, planned: PlannedVersion, actor: Viewer) -> str:
    # Whoever turns a rule off has the answer when it acts no more.
    if not CleanupRule.objects.select_for_update().filter(pk=rule.pk, changed_at=rule.changed_at).exists():
        raise Ended(f"The cleanup rule of {rule.namespace} was changed.")
    release = Release.objects.select_related("namespace", "lifecycle_by", "quarantined_by").get(pk=planned.row.pk)
    if release.lifecycle != planned.row.lifecycle or release.lifecycle_at != planned.row.lifecycle_at:
        raise Conflict(f"{release} was changed in the meantime.")
    act = verbs.yank if rule.action == CleanupAction.YANK else verbs.deprecate
    act(release=release, actor=actor, reason=f"Cleanup rule: {planned.why}.", by_rule=True)
    # It locks the module or provider, so that two who take away its versions see each other's.
    indexing.refreshers[release.kind](release)
    same = Release.objects.listed().filter(kind=release.kind, namespace=release.namespace, name=release.name)
    if rule.action == CleanupAction.DEPRECATE:
        same = same.filter(lifecycle=Lifecycle.MAINTAINED)
    if not same.exists():  # the transaction takes the act back
        raise Conflict(f"{release} is the last version to use.")
    return str(release)


@transaction.atomic
def _record(rule: CleanupRule, actor: Viewer, count: int) -> None:
    CleanupRule.objects.filter(pk=rule.pk).update(applied_at=timezone.now(), applied_count=count)
    actor.record(Event.CLEANUP_APPLIED, subject=rule.namespace.name, action=rule.action, versions=count)
    log.info("cleanup_applied", namespace=rule.namespace.name, action=rule.action, versions=count)
