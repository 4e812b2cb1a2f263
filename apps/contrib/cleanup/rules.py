"""Read and change the cleanup rule of a namespace. The caller asks `authorised_namespace` first."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.access import operators
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role
from apps.audit.kinds import Kind
from apps.lib.errors import Invalid
from apps.releases.cleanup_rules import MAX_DAYS, MAX_KEPT, CleanupAction, CleanupRule
from apps.releases.lifecycle.actions import YANK

FIELDS = ("enabled", "action", "prerelease_days", "stable_days", "keep_newest", "fetched_days")
_LIMITS = {
    "prerelease_days": MAX_DAYS,
    "stable_days": MAX_DAYS,
    "keep_newest": MAX_KEPT,
    "fetched_days": MAX_DAYS,
}


def authorised_namespace(viewer: Viewer, name: str) -> Namespace:
    """Return the namespace for its owners, and for staff who may yank everywhere. Raises like `gate.namespace_for`."""
    return operators.namespace_for_act(viewer, name, need=Role.OWNER, permission=YANK)


def rule_of(namespace: Namespace) -> CleanupRule:
    """Return the namespace's rule. One that was never set chooses nothing, and has no primary key."""
    found = CleanupRule.objects.filter(namespace=namespace).select_related("changed_by").first()
    rule = found or CleanupRule(namespace=namespace)
    rule.namespace = namespace
    return rule


@transaction.atomic
def change(*, namespace: Namespace, actor: Viewer, **wanted: Any) -> CleanupRule:
    """Set the given fields of FIELDS and leave the others. The same values again change nothing. Raises Invalid."""
    Namespace.objects.select_for_update().get(pk=namespace.pk)  # so that two owners take turns
    rule = rule_of(namespace)
    changes = {name: (getattr(rule, name), value) for name, value in wanted.items() if value != getattr(rule, name)}
    for name, (_, after) in changes.items():
        setattr(rule, name, after)
    _check(rule)
    if rule.pk and not changes:
        return rule
    rule.changed_at, rule.changed_by = timezone.now(), actor.user
    if rule.pk:
        changed = {name: getattr(rule, name) for name in (*FIELDS, "changed_at", "changed_by")}
        CleanupRule.objects.filter(pk=rule.pk).update(**changed)
    else:
        rule.save(force_insert=True)
    detail = {name: list(pair) for name, pair in changes.items()}
    actor.record(Kind.CLEANUP_RULE_CHANGED, subject=namespace.name, changes=detail)
    return rule


def _check(rule: CleanupRule) -> None:
    if rule.action not in CleanupAction.values:
        raise Invalid(f"There is no action {rule.action!r}.", hint=f"Use one of {', '.join(CleanupAction.values)}.")
    for name, most in _LIMITS.items():
        value = getattr(rule, name)
        if value is not None and not 1 <= value <= most:
            raise Invalid(f"{name} is {value}, expected a number from 1 to {most:,}.", hint="Choose another number.")
    if rule.enabled and rule.prerelease_days is None and rule.stable_days is None:
        raise Invalid(
            "The rule is on but has no criteria.", hint="Set an age for pre-releases or other versions, or turn it off."
        )
