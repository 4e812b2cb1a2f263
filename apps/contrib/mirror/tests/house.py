"""The rows of mirrored registries in the tables of the house tests (see tests/rooms.py)."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from apps.accounts.identity import sealing
from apps.accounts.models import Namespace, User
from apps.contrib.mirror.ahead.sync_requests import Request
from apps.contrib.mirror.asking import breaker, requesting, upstreams
from apps.contrib.mirror.models import KeyPin, Upstream, UpstreamPackage, UpstreamProvider, UpstreamVersion
from tests.house.scans.declared import QUERIES, SEARCHES
from tests.house.scans.filled import DOCS_PAGE, OLD, SEMVER, ZIP

_SYNC = "'" + json.dumps(Request(("hashicorp/random",), "", "", ()).as_json()) + "'"
IDEMPOTENT_NOTHING_TO_DO = {"post_lock": "apps/contrib/mirror/tests/api/test_lock_api.py"}
LARGE = dict.fromkeys((UpstreamVersion, UpstreamPackage))
FEW = dict.fromkeys((Upstream, UpstreamProvider, KeyPin))
ON_CALL = {
    *("larder_upstream_up", "larder_upstream_stale_list_seconds", "larder_upstream_stored_bytes"),
    *("larder_upstream_open_alarms", "larder_upstream_fetches_total"),
}
FOR_AUDITORS = {
    *("api:upstream-alarm", "api:upstream-alarms", "api:upstream-key", "api:upstream-keys", "api:upstream-unsigned"),
    *("api:upstream-exceptions", "api:upstream-policies", "api:upstream-policies-dry-run"),
    *("portal:mirror-alarm", "portal:mirror-alarms", "portal:mirror-key", "portal:mirror-upstream"),
    "portal:upstream-policy",
}
# Whether it is used, which says if its queue needs a worker, and what it tells.
QUERIES_OF_METRICS = 2
PARTS = ("upstreams",)
SMALL = {
    "upstream.Upstream": "one for each registry that is mirrored",
    "upstream.StoredSum": "one for each upstream",
    "upstream.MirrorDay": "one for each upstream and day, for 400 days",
    "upstream.KeyPin": "a few for each provider",
    "upstream.HeldBack": "of the last hour, at most 10,000",
    "upstream.UnsignedAllowance": "a few for each upstream",
    "upstream.PolicyRule": "a few for each upstream",
    "upstream.Alarm": "people decide each",
    "upstream.PolicyException": "people decide each",
    "upstream.Schedule": "people create each",
}
SMALL_COLUMNS: dict[str, dict[str, str]] = {
    "upstream.Alarm": {"kind": "'key_changed'", "state": "'dismissed'", "resolved_at": OLD},
    "upstream.Schedule": {"request": _SYNC},
    "upstream.Upstream": {"host": "'registry' || g || '.example'"},
    "upstream.KeyPin": {"state": "'trusted'"},
    "upstream.PolicyException": {"upstream_id": "NULL", "module": "''", "module_version": "''"},
    "upstream.PolicyRule": {"effect": "'allow'", "position": "g"},
}
GROWING: dict[str, dict[str, str]] = {
    "upstream.SyncRun": {"request": _SYNC, "state": "'done'", "ended_at": OLD},
    "upstream.LockRun": {"state": "'done'", "ended_at": OLD},
    "upstream.UpstreamProvider": {"type": "'type-' || g", "listed_at": OLD, "namespace": "'space-' || (g % 500)"},
    "upstream.UpstreamVersion": {"version": SEMVER, "sort_key": "decode(md5(g::text), 'hex')", "key_id": "NULL"},
    "upstream.PackageDocs": {"pages": "1 + g % 9", "size": "g"},
    "upstream.PackageDocsPage": DOCS_PAGE,
    "upstream.UpstreamPackage": {**ZIP, "fetched_at": OLD, "h1": "'h1:'", "used_at": OLD},
}

_PROVIDERS = "upstream_upstreamprovider"
_KNOWN = "mirrored providers are as many as people asked for: thousands, and a word is looked for in any part of a name"
_HEALTH = "the health of each registry: how many lists it has, and the oldest"
_FOUND_BY_PROVIDER = ("UpstreamProvider", "UpstreamVersion", "UpstreamPackage")
BY_DESIGN = {
    **{("portal:providers", row, _PROVIDERS): _KNOWN for row in ("", *QUERIES["portal:providers"]) if row != "page=2"},
    **{("portal:search", row, _PROVIDERS): _KNOWN for row in QUERIES["portal:search"]},
    ("portal:mirror-providers", "", _PROVIDERS): _KNOWN,
    ("portal:mirror", "", _PROVIDERS): _HEALTH,
    ("api:upstreams", "", _PROVIDERS): _HEALTH,
    **{(f"upstream.{model}", f"q={word}", _PROVIDERS): _KNOWN for model in _FOUND_BY_PROVIDER for word in SEARCHES[1:]},
}


def begin_anew_with_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause before another try, and no breaker open from another test."""
    monkeypatch.setattr(requesting, "PAUSES", (0.0, 0.0))
    breaker.hosts.clear()
    breaker._leases().clear()


def watched(namespace: Namespace, owner: User) -> None:  # others need them
    """Have what the metrics are about."""
    Upstream.objects.create(host="registry.example.com", is_enabled=True)


def secrets(namespace: Namespace, owner: User) -> dict[str, tuple[Callable[[], Any], Any]]:
    sealed = sealing.seal("mirror-pears", upstreams.PURPOSE)
    made = Upstream.objects.create(host="registry.example", sealed_token=sealed)
    return {"a mirror's token": (lambda: upstreams.token_of(Upstream.objects.get(pk=made.pk)), "mirror-pears")}
