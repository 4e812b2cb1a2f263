"""What the routes of cleanup name and take: each namespace has a rule that chooses nothing."""

import json

from apps.contrib.cleanup import planning
from apps.releases.cleanup_rules import CleanupRule

NOWHERE: dict[str, object] = {}
NOTHING_GOES = planning.digest_of("deprecate", [])
_JSON = "application/json"


def place(namespace, users):
    CleanupRule.objects.create(namespace=namespace)
    return {}


def bodies():
    rule = '{"enabled": true, "prerelease_days": 30}'
    return {
        ("portal:namespace-cleanup", "POST"): {"data": {"keep_newest": 5, "fetched_days": 9, "action": "yank"}},
        ("portal:namespace-cleanup-apply", "POST"): {"data": {"plan": NOTHING_GOES}},
        ("api:cleanup", "PUT"): {"data": rule, "content_type": _JSON},
        ("api:cleanup-apply", "POST"): {"data": json.dumps({"plan": NOTHING_GOES}), "content_type": _JSON},
    }
