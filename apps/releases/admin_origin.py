"""Where a release comes from and who approved it, on its admin page."""

from collections.abc import Mapping
from typing import Any

from django.utils.html import format_html, format_html_join

from apps.accounts.identity.trusted import links
from apps.accounts.identity.trusted.vendors import VENDORS
from apps.accounts.models import User
from apps.admin_base import Column
from apps.admin_base.display import moment
from apps.releases.models import Release
from apps.releases.origin.rows import Origin, Way, joined


def _way(release: Release) -> str:
    origin = joined(release, "origin")
    if origin is None:
        return "not recorded: an older Larder reserved it"
    label = f", token {origin.token_label}" if origin.token_label else ""
    vendor = f", {VENDORS[origin.vendor].label} ({origin.issuer})" if origin.vendor in VENDORS else ""
    return f"{origin.get_way_display()}{label}{vendor}, {'verified' if origin.is_verified else 'not verified'}"


def _facts(release: Release) -> str:
    origin = joined(release, "origin")
    if origin is None:
        return "none"
    vendor = VENDORS.get(origin.vendor)
    linked = links.of(vendor, origin.issuer, origin.claims) if vendor else {}
    return _listed(origin.facts, linked)


def _claims(release: Release) -> str:
    origin = joined(release, "origin")
    return _listed(origin.claims) if origin else "none"


def _others(release: Release) -> str:
    origin: Origin | None = joined(release, "origin")
    if origin is None or not origin.others:
        return "none"
    people = User.objects.in_bulk([one["by"] for one in origin.others if one["by"]])
    ways = dict(Way.choices)
    rows = (
        (people.get(one["by"], "a former user"), ways.get(one["way"], "not recorded"), one["token_label"], one["facts"])
        for one in origin.others
    )
    return format_html("<ul>{}</ul>", format_html_join("", "<li>{} {} {} {}</li>", rows))


def _approval(release: Release) -> str:
    approval = joined(release, "approval")
    if approval is None:
        return "none"
    if approval.decided_at is None:
        return format_html(
            "{} since {}, until {}", approval.decision, moment(approval.asked_at), moment(approval.until)
        )
    how = ", with a token" if approval.token_id else ", with a second factor" if approval.has_second_factor else ""
    reason = f": {approval.reason}" if approval.reason else ""
    who = approval.decided_by or "a former user"
    digest = approval.digest
    return format_html(
        "{} {} by {}{}{}; sha256:{}", approval.decision, moment(approval.decided_at), who, how, reason, digest
    )


def _listed(values: Mapping[str, Any], linked: Mapping[str, str] | None = None) -> str:
    rows = [(name, _linked(value, (linked or {}).get(name, ""))) for name, value in values.items()]
    return format_html("<ul>{}</ul>", format_html_join("", "<li><code>{}</code> {}</li>", rows)) if rows else "none"


def _linked(value: Any, url: str) -> str:
    return format_html('<a href="{}" rel="noopener noreferrer nofollow">{}</a>', url, value) if url else str(value)


ORIGIN_COLUMNS = {
    "origin_way": Column("published by way of", _way),
    "origin_facts": Column("facts", _facts),
    "origin_claims": Column("claims", _claims),
    "origin_others": Column("others that took part", _others),
    "origin_approval": Column("approval", _approval),
}
