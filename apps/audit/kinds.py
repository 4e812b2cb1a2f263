from django.db import models


class Kind(models.TextChoices):
    """`source:subject:action`. Rows keep the text for ever, so a kind is never renamed."""

    USER_SIGNED_IN = "account:user:signed-in"
    USER_SIGN_IN_FAILED = "account:user:sign-in-failed"
    USER_INVITED = "account:user:invited"
    USER_INVITATION_REVOKED = "account:user:invitation-revoked"
    USER_JOINED = "account:user:joined"
    USER_CHANGED = "account:user:changed"
    PASSWORD_CHANGED = "account:user:password-changed"  # noqa: S105
    TOKEN_ISSUED = "account:token:issued"  # noqa: S105
    TOKEN_REVOKED = "account:token:revoked"  # noqa: S105
    NAMESPACE_CREATED = "namespace:namespace:created"
    NAMESPACE_CHANGED = "namespace:namespace:changed"
    GRANT_GIVEN = "namespace:grant:given"
    GRANT_WITHDRAWN = "namespace:grant:withdrawn"
    RELEASE_RESERVED = "namespace:release:reserved"
    RELEASE_RECEIVED = "namespace:release:received"
    RELEASE_PUBLISHED = "namespace:release:published"
    RELEASE_HELD = "namespace:release:held"
    RELEASE_ANSWERED = "namespace:release:answered"
    RELEASE_INSPECTED = "namespace:release:inspected"
    RELEASE_REJECTED = "namespace:release:rejected"
    RELEASE_FAILED = "namespace:release:failed"
    JOB_RETRIED = "operation:job:retried"
    JOB_CANCELLED = "operation:job:cancelled"
    PERMISSION_REFUSED = "account:permission:refused"
