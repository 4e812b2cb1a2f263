"""The upstreams that the routes name: for each visibility one with it, and what it has for staff to decide."""

import json
from typing import Any

from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.blobs import capabilities
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import AlarmKind, KeyState, UnsignedAllowance, Verdict
from apps.contrib.mirror.tests import mirrored, scenario_locks, scenario_policy, shelf

NAMES = {"mirrored_namespace": "cooks", "mirrored_type": "spice"}
_PROVIDER = {"namespace": "acme", "type": "random", "version": "3.6.0"}
_FORGED = {"capability": "forged.link", "file_name": "terraform-provider-random_3.6.0_linux_amd64.zip"}
NOWHERE: dict[str, Any] = {
    "host": "nowhere.example",
    "alarm_id": 0,
    "pin_id": 0,
    "package": {"hostname": "nowhere.example"} | _PROVIDER | _FORGED,
    **NAMES,
    **scenario_policy.NOWHERE,
    **scenario_locks.NOWHERE,
}


def place(namespace, users):
    operator = users["olga"]
    host = f"{namespace.name}.registry.example"
    row = upstreams.change(host, actor=Viewer(operator), enabled=True, cooldown_days=0, visibility=namespace.visibility)
    provider = mirrored.provider(row, "cooks/spice", ("1.0.0",))
    version = mirrored.verify(provider.versions.get(), verdict=Verdict.FIRST_SEEN)
    mirrored.document(version)
    UnsignedAllowance.objects.create(upstream=row, namespace="cooks", reason="No key.", created_by=operator)
    alarm = mirrored.alarm(AlarmKind.LIST_SHRANK, version, known={"listed": 1}, found={"listed": 0})
    key = mirrored.pin(provider, mirrored.NEW_KEY, KeyState.WAITING)
    stored = shelf.add_package(shelf.add_version(row, "acme/random"), namespace.name.encode())
    capability = capabilities.sign(digest=stored.digest, file_name=stored.filename, now=timezone.now())
    package = {"hostname": host, "capability": capability, "file_name": stored.filename} | _PROVIDER
    return {
        "host": host,
        "alarm_id": alarm.pk,
        "pin_id": key.pk,
        "package": package,
        **NAMES,
        **scenario_policy.place(row, operator),
        **scenario_locks.place(),
    }


def _json(**body):
    return {"data": json.dumps(body), "content_type": "application/json"}


REASON = "No."
FORM = {
    "host": "more.registry.example",
    "enabled": "on",
    "visibility": "public",
    "cooldown_days": 9,
    "list_seconds": 600,
    "stale_hours": 168,
    "quota_gb": "1.5",
    "evict_days": 0,
}
_BODIES: dict[tuple[str, str], Any] = {
    **scenario_policy.BODIES,
    **scenario_locks.BODIES,
    ("api:upstream", "PUT"): _json(enabled=True, cooldown_days=7),
    ("api:upstream-alarm-accept", "POST"): _json(reason=REASON),
    ("api:upstream-alarm-dismiss", "POST"): _json(reason=REASON),
    ("api:upstream-key", "POST"): _json(trusted=True, reason=REASON),
    ("api:upstream-unsigned-namespace", "PUT"): _json(reason=REASON),
    ("api:upstream-unsigned-withdraw", "POST"): _json(reason=REASON),
    ("portal:mirror-add", "POST"): {"data": FORM},
    ("portal:mirror-change", "POST"): {"data": FORM},
    ("portal:mirror-alarm", "POST"): {"data": {"decision": "accept", "reason": REASON}},
    ("portal:mirror-key", "POST"): {"data": {"decision": "trust", "reason": REASON}},
    ("portal:mirror-unsigned", "POST"): {"data": {"namespace": "bakers", "reason": REASON}},
    ("portal:mirror-unsigned-withdraw", "POST"): {"data": {"reason": REASON}},
}


def bodies():
    return _BODIES
