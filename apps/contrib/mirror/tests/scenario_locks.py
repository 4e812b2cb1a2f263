"""The locks and syncs that the routes name, and a mirrored provider whose lock file is complete at once."""

import json
import uuid
from typing import Any

from django.utils import timezone

from apps.accounts.models import Visibility
from apps.contrib.mirror.models import LockRun, RunState, Schedule, SyncRun, Upstream
from apps.contrib.mirror.tests import mirrored

HOST = "locks.registry.example"
BLOCK = f'random = {{ source = "{HOST}/hashicorp/random" }}'
NOWHERE: dict[str, Any] = {"lock_id": uuid.UUID(int=0), "sync_id": 0, "schedule_id": 0}
_REQUEST = {"client": "tofu", "lock": "", "required": {}, "platforms": ["linux_amd64"]}
_SYNC = {
    "patterns": ["hashicorp/*"],
    "lock": "",
    "required_providers": "",
    "platforms": ["linux_amd64"],
    "client": "tofu",
    "is_pinned": False,
    "is_confirmed": False,
}


def place():
    if not Upstream.objects.filter(host=HOST).exists():
        row = mirrored.provider(mirrored.upstream(HOST, visibility=Visibility.PUBLIC))
        for version in row.versions.all():
            mirrored.verify(version)
    run = LockRun.objects.create(request=_REQUEST, state=RunState.DONE, planned=1, done=1, lock="# done\n")
    return {
        "lock_id": run.public_id,
        "sync_id": SyncRun.objects.create(request=_SYNC, state=RunState.PLANNED).pk,
        "schedule_id": Schedule.objects.create(request=_SYNC, next_at=timezone.now()).pk,
    }


_LOCK = {"required_providers": BLOCK, "platforms": ["linux_amd64"]}
BODIES: dict[tuple[str, str], Any] = {
    ("api:lock", "POST"): {"data": json.dumps(_LOCK), "content_type": "application/json"},
    ("portal:lock", "POST"): {"data": _LOCK},
    ("portal:sync", "POST"): {"data": {"patterns": "hashicorp/*", "platforms": ["linux_amd64"]}},
}
