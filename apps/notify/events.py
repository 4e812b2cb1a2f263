"""The names of events in webhooks, and the kinds of the audit behind them. A name is never changed or used again."""

from apps.audit.kinds import Kind

EVENTS: dict[str, Kind] = {
    "release.published": Kind.RELEASE_PUBLISHED,
    "release.held": Kind.RELEASE_HELD,
    "release.rejected": Kind.RELEASE_REJECTED,
    "release.failed": Kind.RELEASE_FAILED,
    "release.deprecated": Kind.RELEASE_DEPRECATED,
    "release.yanked": Kind.RELEASE_YANKED,
    "release.restored": Kind.RELEASE_RESTORED,
    "release.quarantined": Kind.RELEASE_QUARANTINED,
    "release.purged": Kind.RELEASE_PURGED,
    "role.granted": Kind.GRANT_GIVEN,
    "role.withdrawn": Kind.GRANT_WITHDRAWN,
    "key.registered": Kind.KEY_REGISTERED,
    "key.retired": Kind.KEY_RETIRED,
    "key.revoked": Kind.KEY_REVOKED,
    "namespace.changed": Kind.NAMESPACE_CHANGED,
    "webhook.disabled": Kind.WEBHOOK_DISABLED,
}
# As the form offers them.
LABELS = {
    "release.published": "A version was published",
    "release.held": "A release waits for its publisher's answer",
    "release.rejected": "A release was refused",
    "release.failed": "A release could not be published by a fault of Larder",
    "release.deprecated": "A version was deprecated",
    "release.yanked": "A version was yanked",
    "release.restored": "A version was restored after a deprecation, a yank or a quarantine",
    "release.quarantined": "A version was put in quarantine by staff",
    "release.purged": "A version was removed for good",
    "role.granted": "A person or team got a role, or another one",
    "role.withdrawn": "A person or team lost their role",
    "key.registered": "A signing key was added",
    "key.retired": "A signing key was retired",
    "key.revoked": "A signing key was revoked",
    "namespace.changed": "The visibility or description of the namespace was changed",
    "webhook.disabled": "A webhook was switched off after long failure",
}
# What the button sends.
TEST = "webhook.test"
NAMES = {str(kind): name for name, kind in EVENTS.items()}
# The last word of each, for a sentence such as "acme/vpc/aws 1.2.0 was published by alice."
DONE = {
    "release.published": "was published",
    "release.held": "waits for an answer of its publisher",
    "release.rejected": "was refused",
    "release.failed": "could not be published",
    "release.deprecated": "was deprecated",
    "release.yanked": "was yanked",
    "release.restored": "was restored",
    "release.quarantined": "was quarantined",
    "release.purged": "was purged",
    "role.granted": "has a new member, or a member has a new role",
    "role.withdrawn": "has one member less",
    "key.registered": "has a new signing key",
    "key.retired": "retired a signing key",
    "key.revoked": "revoked a signing key",
    "namespace.changed": "was changed",
    "webhook.disabled": "was switched off",
    TEST: "sends this test",
}
