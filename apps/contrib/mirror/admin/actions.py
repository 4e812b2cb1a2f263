"""Actions of the admin's lists of mirrored registries: each calls a verb; most ask for a reason first (D19)."""

from collections.abc import Callable
from functools import partial
from typing import Any

from apps.accounts.access.gate import Viewer
from apps.accounts.admin.actors import each
from apps.accounts.admin.reasons import ROWS_SHOWN, Reasoned, acts
from apps.admin_base import Act
from apps.contrib.mirror import health
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import Alarm, AlarmState, KeyState, Upstream, UpstreamPackage, UpstreamVersion
from apps.contrib.mirror.policy import policy_exceptions
from apps.contrib.mirror.records import alarms, storage, trust

_acts = partial(
    acts, upstreams.OPERATE, trust.MAX_REASON_CHARACTERS, "One or two sentences. Recorded in the audit log."
)


def sides(row: Alarm) -> list[str]:
    """Return what was known and what was found, side by side."""
    return [
        "; ".join(f"{name}: {value}" for name, value in side.items()) or "nothing" for side in (row.known, row.found)
    ]


def _switch(label: str, title: str, done: str, offered: Callable[[Upstream], bool], **fields: bool) -> Act:
    def verb(row: Upstream, actor: Viewer) -> object:
        return upstreams.change(row.host, actor=actor, **fields)

    return Act(title, upstreams.OPERATE, each(verb, done), button=label, offered=offered)


OF_UPSTREAMS = {
    "enable": _switch("Enable", "Enable selected registries", "Enabled", lambda row: not row.is_enabled, enabled=True),
    "disable": _switch("Disable", "Disable selected registries", "Disabled", lambda row: row.is_enabled, enabled=False),
    "seal": _switch(
        "Turn on offline mode",
        "Turn on offline mode for selected registries",
        "In offline mode",
        lambda row: not row.is_sealed,
        sealed=True,
    ),
    "unseal": _switch(
        "Turn off offline mode",
        "Turn off offline mode for selected registries",
        "Back online",
        lambda row: row.is_sealed,
        sealed=False,
    ),
    "ask_again": Act(
        "Ask selected registries again now",
        upstreams.OPERATE,
        each(lambda row, actor: health.reset_breaker(row, actor=actor), "Asked again"),
        button="Ask again now",
    ),
}
OF_PROVIDERS = {
    "refresh": Act(
        "Refresh the lists of selected providers",
        upstreams.OPERATE,
        each(lambda row, actor: health.refresh_list(row, actor=actor), "Queued"),
        button="Refresh the list",
    ),
}
OF_EXCEPTIONS = {
    "withdraw": Act(
        "Revoke selected exceptions",
        upstreams.OPERATE,
        each(lambda row, actor: policy_exceptions.withdraw(row, actor=actor), "Revoked"),
        button="Revoke",
        offered=lambda row: row.withdrawn_at is None,
    ),
}


def _evict(row: UpstreamPackage, actor: Viewer, reason: str) -> None:
    storage.evict_now(row, actor=actor, reason=reason)


def _pin(*, is_pinned: bool) -> Callable[[UpstreamVersion, Viewer, str], None]:
    return lambda row, actor, reason: storage.pin(row, is_pinned=is_pinned, actor=actor, reason=reason)


OF_PACKAGES = _acts(
    Reasoned(
        "evict",
        "Delete the stored bytes",
        "Their records remain, and Larder fetches and verifies them again when a client needs them. Pinned packages "
        "are kept.",
        "Deleted",
        _evict,
        lambda row: row.blob_id is not None and not row.is_pinned,
    )
)
OF_VERSIONS = _acts(
    Reasoned(
        "pin", "Pin", "Packages of a pinned version are never deleted to make room.", "Pinned", _pin(is_pinned=True)
    ),
    Reasoned("unpin", "Unpin", "Its packages may be deleted to make room.", "Unpinned", _pin(is_pinned=False)),
)
OF_KEYS = _acts(
    Reasoned(
        "trust",
        "Trust",
        "Larder accepts what this key signs in its namespace. Compare the fingerprint with one from another source.",
        "Trusted",
        lambda row, actor, reason: trust.decide_key(row, actor=actor, is_trusted=True, reason=reason),
        lambda row: row.state != KeyState.TRUSTED,
        ("What", "Fingerprint", "Trusted so far"),
        lambda row: (row.fingerprint, trusted_beside(row)),
    ),
    Reasoned(
        "refuse",
        "Refuse",
        "From now on, Larder rejects what this key signs. Packages that it verified earlier remain stored.",
        "Refused",
        lambda row, actor, reason: trust.decide_key(row, actor=actor, is_trusted=False, reason=reason),
        lambda row: row.state != KeyState.REFUSED,
        ("What", "Fingerprint", "Trusted so far"),
        lambda row: (row.fingerprint, trusted_beside(row)),
    ),
)
OF_ALLOWANCES = _acts(
    Reasoned(
        "withdraw",
        "Revoke",
        "Larder again refuses new versions without a key or with such a signature. Accepted versions remain stored.",
        "Revoked",
        lambda row, actor, reason: trust.withdraw_unsigned(
            row.upstream, row.namespace, actor=actor, reason=reason, allows=row.allows
        ),
    )
)
OF_ALARMS = _acts(
    Reasoned(
        "accept",
        "Accept what was found",
        "From now on, Larder trusts the finding: the new key, or the new files in place of the stored ones. Versions "
        "that vanished from the list are removed for clients.",
        "Accepted",
        lambda row, actor, reason: alarms.accept(row, actor=actor, reason=reason),
        lambda row: row.state == AlarmState.OPEN,
        ("What", "Known", "Found"),
        sides,
    ),
    Reasoned(
        "dismiss",
        "Dismiss",
        "Larder keeps what it verified and refuses the finding. Stored versions that vanished from the list are "
        "still served.",
        "Dismissed",
        lambda row, actor, reason: alarms.dismiss(row, actor=actor, reason=reason),
        lambda row: row.state == AlarmState.OPEN,
        ("What", "Known", "Found"),
        sides,
    ),
)


def trusted_beside(row: Any) -> str:
    """The other keys of the provider that are trusted."""
    same = type(row).objects.filter(provider=row.provider_id, state=KeyState.TRUSTED)
    found = same.exclude(pk=row.pk).order_by("first_seen_at", "pk").values_list("fingerprint", flat=True)
    return ", ".join(found[:ROWS_SHOWN]) or "no other key"
