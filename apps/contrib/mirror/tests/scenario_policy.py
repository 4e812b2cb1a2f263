"""The objects that the routes about the policy of an upstream name, and send."""

import json
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.policy import policy_exceptions, rulebook
from apps.contrib.mirror.policy.policy_exceptions import ModuleVersion
from apps.lib import versions

NOWHERE: dict[str, Any] = {"exception_id": 0}


def place(upstream, operator):
    version = _version(upstream)
    until = timezone.now() + timedelta(days=7)
    row = policy_exceptions.allow(version, reason="Fixes a hole.", expires_at=until, actor=Viewer(operator))
    return {"exception_id": row.pk}


def shelve(operator, hostile):
    """An upstream whose policy has everything, for those who look at pages."""
    upstream = upstreams.change("registry.example", actor=Viewer(operator), enabled=True)
    version = _version(upstream)
    rules: list[dict[str, Any]] = [
        *RULES,
        {"pattern": "*/random", "effect": "signed_only", "platforms": ["linux_amd64"], "reason": hostile},
    ]
    rulebook.change(upstream, rules=rules, actor=Viewer(operator))
    until = timezone.now() + timedelta(days=7)
    module = ModuleVersion(upstream, "terraform-aws-modules/vpc/aws", "5.1.0")
    for one in (version, module):
        policy_exceptions.allow(one, reason=hostile, expires_at=until, actor=Viewer(operator))


def _version(upstream):
    """Return a version that a list named a year ago."""
    now = timezone.now()
    provider = UpstreamProvider.objects.create(
        upstream=upstream, namespace="hashicorp", type="random", listed_at=now, first_listed_at=now
    )
    return UpstreamVersion.objects.create(
        provider=provider,
        version="3.7.2",
        sort_key=versions.sort_key("3.7.2"),
        platforms=[["linux", "amd64"]],
        first_seen_at=now,
        published_at=now - timedelta(days=365),
    )


def _json(**body):
    return {"data": json.dumps(body), "content_type": "application/json"}


RULES: list[dict[str, Any]] = [
    {"pattern": "hashicorp/*", "effect": "cool_down", "days": 7},
    {"pattern": "*", "effect": "deny", "versions": "< 3.0", "reason": "No longer maintained."},
]
EXCEPTION = {"provider": "hashicorp/random", "version": "3.7.2", "reason": "Fixes a hole."}
RULE_FORM = {
    "cooldown_days": "3",
    "rules-TOTAL_FORMS": "1",
    "rules-INITIAL_FORMS": "0",
    "rules-0-pattern": "hashicorp/*",
    "rules-0-effect": "allow",
    "rules-0-ORDER": "1",
    "save": "1",
}
BODIES: dict[tuple[str, str], Any] = {
    ("api:upstream-policies", "PUT"): _json(rules=RULES, cooldown_days=3),
    ("api:upstream-policies-dry-run", "POST"): _json(rules=RULES),
    ("api:upstream-exceptions", "POST"): _json(**EXCEPTION, expires_at="2027-06-01T00:00:00Z"),
    ("portal:upstream-policy", "POST"): {"data": RULE_FORM},
    ("portal:upstream-exception-add", "POST"): {
        "data": {
            "allow-address": "hashicorp/random",
            "allow-version": "3.7.2",
            "allow-reason": "Fixes a hole.",
            "allow-days": "30",
        }
    },
}
