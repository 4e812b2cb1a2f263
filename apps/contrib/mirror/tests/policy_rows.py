"""Rows of other registries, as a fetch writes them, and the rules of tests about policy."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.contrib.mirror.models import Upstream, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.policy import advisories, rulebook
from apps.contrib.mirror.policy.evaluation import decisions
from apps.lib import versions

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
LONG_AGO = datetime(2018, 3, 1, tzinfo=UTC)
BOTH = [["linux", "amd64"], ["windows", "amd64"]]


def upstream(host: str = "registry.opentofu.org", **fields: Any) -> Upstream:
    return Upstream.objects.create(host=host, is_enabled=True, **{"cooldown_days": 3} | fields)


def provider(of: Upstream, address: str = "hashicorp/random") -> UpstreamProvider:
    namespace, type_ = address.split("/")
    listed = {"listed_at": LONG_AGO, "first_listed_at": LONG_AGO}
    return UpstreamProvider.objects.create(upstream=of, namespace=namespace, type=type_, **listed)


def version(of: UpstreamProvider, text: str, **fields: Any) -> UpstreamVersion:
    """One that the registry lists without a date, first seen a minute ago."""
    usual: dict[str, Any] = {"first_seen_at": NOW - timedelta(minutes=1), "platforms": BOTH}
    return UpstreamVersion.objects.create(provider=of, version=text, sort_key=versions.sort_key(text), **usual | fields)


def rule(effect: str, pattern: str = "*", **fields: Any) -> dict[str, Any]:
    return {"effect": effect, "pattern": pattern, **fields}


def save(of: Upstream, *rules: dict[str, Any], **more: Any) -> None:
    rulebook.change(of, rules=rules, actor=Viewer(), **more)


def visible(of: UpstreamProvider, *, now: datetime = NOW) -> list[str]:
    """Versions in its list, highest first."""
    fresh = UpstreamProvider.objects.get(pk=of.pk)
    return [row.version for row, found in decisions(fresh, now=now).items() if found.is_visible]


def osv(name: str = "hashicorp/random", **fields: Any) -> dict[str, Any]:
    """An advisory about 1.x before 1.5.0."""
    events = [{"introduced": "1.0.0"}, {"fixed": "1.5.0"}]
    affected = {
        "package": {"ecosystem": "OpenTofu", "name": name},
        "ranges": [{"type": "SEMVER", "events": events}],
    }
    return {"id": "ACME-2026-1", "summary": "Random is not random.", "affected": [affected | fields]}


def place(folder: Path, document: object, name: str = "acme.json") -> Path:
    """Write the file and have the next question look for it."""
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    advisories.folder._looked = 0.0
    return path


def soon(days: int = 7) -> datetime:
    return timezone.now() + timedelta(days=days)
