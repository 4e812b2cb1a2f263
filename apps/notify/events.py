"""The names of events in webhooks, and the kinds of the audit behind them. A name is never changed or used again."""

from typing import NamedTuple

from apps.audit.kinds import Kind


class Event(NamedTuple):
    """`label` is as the form offers it, `done` for a sentence such as "acme/vpc/aws 1.2.0 was published by alice.".

    Without `done`, `notices` has the whole sentence.
    """

    kind: Kind
    label: str
    done: str = ""


EVENTS = {
    "release.published": Event(Kind.RELEASE_PUBLISHED, "A version was published", "was published"),
    "release.held": Event(Kind.RELEASE_HELD, "A release needs its publisher's answer", "needs its publisher's answer"),
    "release.awaiting-approval": Event(
        Kind.RELEASE_APPROVAL_REQUESTED, "A release awaits approval by another person", "awaits approval"
    ),
    "release.approved": Event(Kind.RELEASE_APPROVED, "A release was approved", "was approved"),
    "release.declined": Event(Kind.RELEASE_DECLINED, "A release was declined by its approver", "was declined"),
    "release.rejected": Event(Kind.RELEASE_REJECTED, "A release was rejected", "was rejected"),
    "release.failed": Event(
        Kind.RELEASE_FAILED, "A release failed because of an internal error", "could not be published"
    ),
    "release.deprecated": Event(Kind.RELEASE_DEPRECATED, "A version was deprecated", "was deprecated"),
    "release.yanked": Event(Kind.RELEASE_YANKED, "A version was yanked", "was yanked"),
    "release.restored": Event(
        Kind.RELEASE_RESTORED, "A version was restored after a deprecation, a yank or a quarantine", "was restored"
    ),
    "release.quarantined": Event(Kind.RELEASE_QUARANTINED, "Staff quarantined a version", "was quarantined"),
    "release.checked": Event(
        Kind.RELEASE_CHECKED, "A report about a published version was received", "has a new report"
    ),
    "release.findings": Event(
        Kind.RELEASE_FINDINGS,
        "A report found something new in a published version, from the severity that owners chose",
        "has new findings",
    ),
    "release.awaiting-checks": Event(
        Kind.RELEASE_CHECKS_MISSING, "A release waits for required checks", "waits for required checks"
    ),
    "release.checks-waived": Event(
        Kind.RELEASE_CHECKS_WAIVED, "An owner waived the required checks of a release", "needs no further checks"
    ),
    "release.purged": Event(Kind.RELEASE_PURGED, "A version was purged", "was purged"),
    "role.granted": Event(Kind.GRANT_GIVEN, "A person or team got a role, or another role"),
    "role.withdrawn": Event(Kind.GRANT_WITHDRAWN, "A person or team lost their role"),
    "connections.suspended": Event(
        Kind.CONNECTIONS_SUSPENDED, "Connections of former owners were suspended by a transfer"
    ),
    "connections.left-behind": Event(
        Kind.CONNECTIONS_LEFT_BEHIND, "An owner lost the role, and left connections behind"
    ),
    "access.requested": Event(Kind.ACCESS_REQUESTED, "Someone requested publish access"),
    "usage.notified": Event(Kind.USAGE_NOTIFIED, "An owner sent a message to the users of a version"),
    "key.registered": Event(Kind.KEY_REGISTERED, "A signing key was added", "has a new signing key"),
    "key.retired": Event(Kind.KEY_RETIRED, "A signing key was retired", "retired a signing key"),
    "key.revoked": Event(Kind.KEY_REVOKED, "A signing key was revoked", "revoked a signing key"),
    "namespace.changed": Event(
        Kind.NAMESPACE_CHANGED, "The visibility or description of the namespace was changed", "was changed"
    ),
    "webhook.disabled": Event(Kind.WEBHOOK_DISABLED, "A webhook was switched off after repeated failures"),
    "tag.refused": Event(Kind.GIT_REFUSALS_NOTIFIED, "A Git tag was refused, and became no release"),
    "tag.moved": Event(Kind.GIT_TAG_MOVED, "The Git tag of a release moved"),
    "tag.deleted": Event(Kind.GIT_TAG_DELETED, "The Git tag of a release was deleted"),
    "repository.failing": Event(Kind.GIT_REPOSITORY_FAILING, "A Git repository could not be read for an hour"),
    "repository.host-keys-changed": Event(
        Kind.GIT_HOST_KEYS_CHANGED, "The server of a Git repository shows other host keys"
    ),
    "upstream.alarm": Event(
        Kind.UPSTREAM_ALARM_RAISED,
        "A mirrored registry raised an alarm, such as another key (site-wide webhooks only)",
        "raised an alarm",
    ),
    "upstream.policy-changed": Event(
        Kind.UPSTREAM_POLICY_CHANGED,
        "The policy of a mirrored registry was changed (site-wide webhooks only)",
        "changed the policy",
    ),
}
# No namespace of ours has them: only site-wide webhooks and staff hear of them.
OF_NO_NAMESPACE = (Kind.WEBHOOK_DISABLED, Kind.UPSTREAM_ALARM_RAISED, Kind.UPSTREAM_POLICY_CHANGED)
NAMES = {str(event.kind): name for name, event in EVENTS.items()}
# What the button sends.
TEST = "webhook.test"
