"""Providers of other registries on the shelf of the browsers: something for each page, and hostile names."""

from typing import Any

from apps.accounts.models import Namespace, User
from apps.contrib.mirror.tests import mirrored, scenario_locks, scenario_policy


def fill(namespace: Namespace, admin: User, hostile: str) -> dict[str, Any]:  # others need it
    """Return a key that waits and the alarms, and the numbers of a lock and of a sync."""
    mirror = mirrored.fill(admin)
    runs = scenario_locks.place()
    scenario_policy.shelve(admin, hostile)
    alarms = [alarm.pk for alarm in mirror.alarms.values()]
    return {"lock": str(runs["lock_id"]), "sync": runs["sync_id"], "mirror": [mirror.waiting.pk, *alarms]}
