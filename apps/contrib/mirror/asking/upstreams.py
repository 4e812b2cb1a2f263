"""Verbs for upstreams, and who sees them. The caller has asked the gate for OPERATE.

A private upstream is for staff, an internal one for those who are signed in or send a token.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import sealing
from apps.accounts.models import Scope, Visibility
from apps.audit.kinds import Kind
from apps.contrib.mirror import stored_sums
from apps.contrib.mirror.asking import connection_values as values
from apps.contrib.mirror.models import (
    Alarm,
    PolicyException,
    Upstream,
    UpstreamPackage,
    UpstreamProvider,
    UpstreamVersion,
)
from apps.lib.errors import Invalid, NotFound, UnknownOrPrivate
from apps.lib.net import hostnames

OPERATE, VIEW = "upstream.operate_upstream", "upstream.view_upstream"
PURPOSE = "upstream"  # of the sealed token
SEALED = sealing.Column(Upstream, "sealed_token", PURPOSE)
MAX_LABEL = 63
_NAMESPACE = re.compile(r"[0-9a-z](?:[0-9a-z_-]{0,62}[0-9a-z])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a registry. Quoted, not interpreted."""

    quote: str
    url: str


@dataclass(frozen=True, slots=True)
class Known:
    """A registry that can be switched on without typing its address."""

    host: str
    name: str
    about: str
    terms: Terms | None = None


KNOWN = {
    known.host: known
    for known in (
        Known(
            "registry.opentofu.org",
            "The OpenTofu registry",
            "OpenTofu installs providers from here if their source names no host, such as hashicorp/random.",
        ),
        Known(
            "registry.terraform.io",
            "The Terraform registry",
            "Terraform installs providers from here if their source names no host. Its hashicorp/random is a different "
            "binary from the one in the OpenTofu registry.",
            Terms(
                "You may download providers, modules, policy libraries and/or other Services or Content from this "
                "website solely for use with, or in support of, HashiCorp Terraform.",
                "https://registry.terraform.io/terms",
            ),
        ),
    )
}
# Numbers that `change` takes, with the lowest and the highest.
NUMBERS = {
    "cooldown_days": (0, 3650),
    "list_seconds": (0, 30 * 24 * 3600),
    "stale_hours": (0, 10 * 365 * 24),
    "quota_bytes": (0, 10**15),
    "evict_days": (0, 3650),
}
_SWITCHES = {"enabled": "is_enabled", "sealed": "is_sealed", "terraform_only": "terraform_only"}
# After a change of these the registry is asked again at once.
_ANSWERS_DIFFER = {"is_enabled", "url", "ca", "proxy", "sealed_token"}


def of_host(host: str) -> Upstream | None:
    """Return the row of a host in any spelling, enabled or not."""
    return next((row for _, row in of_hosts([host])), None)


def of_hosts(hosts: Collection[str] | None) -> Iterator[tuple[str, Upstream]]:
    """Yield each of these hosts, in any spelling, that has a row, with its row; all with None."""
    if hosts is None:
        yield from ((row.host, row) for row in Upstream.objects.order_by("host"))
        return
    names = {}
    for host in hosts:
        with suppress(Invalid):
            names[host] = hostnames.normalised(host)
    found = {row.host: row for row in Upstream.objects.filter(host__in=set(names.values()))}
    yield from ((host, found[name]) for host, name in names.items() if name in found)


def enabled(host: str) -> Upstream | None:
    found = of_host(host)
    return found if found is not None and found.is_enabled else None


def token_of(upstream: Upstream) -> str:
    """Return the token for the registry, or "". Raises Unavailable where the secret key is another one."""
    return sealing.unseal(upstream.sealed_token, PURPOSE) if upstream.sealed_token else ""


def terms_of(host: str) -> Terms | None:
    known = KNOWN.get(host)
    return known.terms if known else None


def sees_operations(viewer: Viewer) -> bool:
    """Return whether the viewer sees how upstreams do, and those that are off: staff who may view them.

    A token needs the scope manage and no limits, as for everything that staff read.
    """
    user, token = viewer.user, viewer.token
    if user is None or not user.is_staff or not user.has_perm(VIEW):
        return False
    return token is None or (token.scope == Scope.MANAGE and not token.is_limited)


def sees(viewer: Viewer, upstream: Upstream) -> bool:
    """Return whether the viewer may read what an enabled upstream mirrors."""
    if upstream.visibility == Visibility.PUBLIC:
        return True
    if upstream.visibility == Visibility.INTERNAL:
        return viewer.is_identified
    return viewer.user is not None and viewer.user.is_staff


def visible_to(viewer: Viewer) -> QuerySet[Upstream]:
    """Return those that the viewer may read, by host; for `sees_operations` also those that are switched off."""
    rows = Upstream.objects.select_related("created_by").order_by("host")
    if sees_operations(viewer):
        return rows
    seen = [Visibility.PUBLIC]
    if viewer.is_identified:
        seen.append(Visibility.INTERNAL)
    if viewer.user is not None and viewer.user.is_staff:
        seen.append(Visibility.PRIVATE)
    return rows.filter(is_enabled=True, visibility__in=seen)


def upstream_for(viewer: Viewer, host: str) -> Upstream:
    """Return the upstream that the viewer sees. Raises UnknownOrPrivate or NotFound, for hidden and missing alike."""
    found = of_host(host)
    if found is None or not (sees_operations(viewer) or (found.is_enabled and sees(viewer, found))):
        if not viewer.is_identified:
            raise UnknownOrPrivate
        raise NotFound(
            f"There is no mirrored registry {host[:80]!r} that you can see.",
            hint="See the list of mirrored registries.",
        )
    return found


def checked_host(host: str) -> str:
    """Return the host as provider addresses compare it. Raises Invalid for other text and for our own hosts."""
    hint = "Enter a name such as registry.example.com, without https:// and port."
    try:
        name = hostnames.normalised(host)
    except Invalid as refusal:
        raise Invalid(str(refusal), hint=refusal.hint or hint) from None
    labels = name.split(".")
    if any(not 0 < len(label) <= MAX_LABEL or label[0] == "-" or label[-1] == "-" for label in labels):
        raise Invalid(f"{host[:80]!r} is not a host name.", hint=hint)
    if name in settings.HOSTNAMES or hostnames.is_one_of(name, [settings.PUBLIC_HOST.partition(":")[0]]):
        raise Invalid(
            f"{name} is this Larder, whose providers need no mirror.",
            hint="Enter the host of another registry, or publish the provider here.",
        )
    return name


def checked_namespace(text: str) -> str:
    """Return the namespace of a registry, as addresses compare it. Raises Invalid."""
    name = text.strip().lower()
    if not _NAMESPACE.fullmatch(name):
        raise Invalid(
            f"{text[:80]!r} is not a namespace.", hint="Enter the first part of the address, as in acme of acme/dns."
        )
    return name


@transaction.atomic
def change(host: str, *, actor: Viewer, **fields: Any) -> Upstream:
    """Change the fields that are given, or create the upstream, which is off unless `enabled`. Raises Invalid.

    `enabled`, `sealed`, `terraform_only`, `visibility`, the NUMBERS, `url`, `proxy`, `ca` and `token` (empty: none).
    Who enables a registry that has terms accepts them, and the audit says so.
    """
    name = checked_host(host)
    row = Upstream.objects.select_for_update().filter(host=name).first()
    is_new = row is None
    if row is None:
        row = Upstream(host=name, created_by=actor.user, terraform_only=terms_of(name) is not None)
    changes = {field: value for field, value in _checked(row, fields).items() if getattr(row, field) != value}
    for field, value in changes.items():
        setattr(row, field, value)
    if row.is_enabled and row.terms_accepted_at is None and terms_of(name) is not None:
        row.terms_accepted_at = changes["terms_accepted_at"] = timezone.now()
    if not (changes or is_new):
        return row
    differs = not is_new and bool(_ANSWERS_DIFFER & changes.keys())
    if differs:
        row.failures, row.open_until, row.discovered, row.discovered_at = 0, None, "", None
    row.save()
    if differs:
        ask_again(row)
    actor.record(Kind.UPSTREAM_CHANGED, subject=row.host, created=is_new, changed=_told(row, changes))
    return row


@transaction.atomic
def remove(host: str, *, actor: Viewer) -> None:
    """Forget the upstream: its pinned keys and digests, rules, alarms and packages as well. Raises NotFound.

    Seen again, its keys are seen for the first time. Bytes that nothing else needs go with the next collection.
    """
    row = of_host(host)
    if row is None:
        raise NotFound(f"There is no mirrored registry {host[:80]!r}.", hint="See the list of mirrored registries.")
    stored_sums.lock([row.pk])
    forgotten = {
        "providers": row.providers.count(),
        "packages": stored_sums.stored(row).count(),
        "keys": [f"{pin.namespace}: {pin.fingerprint}" for pin in row.pins.order_by("pk")[:100]],
    }
    # From the leaves, since a version protects its key.
    Alarm.objects.filter(upstream=row).delete()
    PolicyException.objects.filter(version__provider__upstream=row).delete()
    UpstreamPackage.objects.filter(version__provider__upstream=row).delete()
    UpstreamVersion.objects.filter(provider__upstream=row).only("pk").delete()
    row.delete()
    stored_sums.drop_docs()
    actor.record(Kind.UPSTREAM_CHANGED, subject=row.host, removed=True, forgotten=forgotten)


def _checked(row: Upstream, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns with their values. Raises Invalid."""
    wanted: dict[str, Any] = {}
    for name, value in fields.items():
        if name in _SWITCHES:
            wanted[_SWITCHES[name]] = bool(value)
        elif name in NUMBERS:
            wanted[name] = _number(name, value)
        elif name in _CHECKS:
            wanted[name] = _CHECKS[name](value)
        elif name == "token":
            wanted |= _sealed(row, values.checked_token(value))
        else:
            raise TypeError(name)
    return wanted


def _sealed(row: Upstream, token: str) -> dict[str, str]:
    if token == token_of(row):  # which looks different each time it is sealed
        return {}
    return {"sealed_token": sealing.seal(token, PURPOSE) if token else ""}


def _visibility(value: str) -> str:
    if value not in Visibility.values:
        raise Invalid(f"There is no visibility {value!r}.", hint=f"Use one of {', '.join(Visibility.values)}.")
    return value


_CHECKS: dict[str, Callable[[str], str]] = {
    "visibility": _visibility,
    "url": values.checked_url,
    "proxy": values.checked_proxy,
    "ca": values.checked_ca,
}


def _number(name: str, value: int) -> int:
    least, most = NUMBERS[name]
    if not least <= value <= most:
        raise Invalid(f"{name} is {value}, expected {least} to {most}.", hint="Enter a number in that range.")
    return value


def ask_again(row: Upstream) -> None:
    """Forget when its rows may be asked again: what failed before is not a reason to wait."""
    UpstreamProvider.objects.filter(upstream=row).exclude(retry_at=None).update(retry_at=None)
    UpstreamVersion.objects.filter(provider__upstream=row).exclude(retry_at=None).update(retry_at=None)
    UpstreamPackage.objects.filter(version__provider__upstream=row).exclude(retry_at=None).update(retry_at=None)


def _told(row: Upstream, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes for the audit, without the token."""
    told = {name: value for name, value in changes.items() if name not in ("sealed_token", "ca", "terms_accepted_at")}
    if "sealed_token" in changes:
        told["signs_in"] = bool(row.sealed_token)  # the names of secrets are redacted
    if "ca" in changes:
        told["ca"] = [authority.fingerprint for authority in values.authorities_of(row.ca)]
    if "terms_accepted_at" in changes:
        told["accepted_terms"] = getattr(terms_of(row.host), "url", "")
    return told
