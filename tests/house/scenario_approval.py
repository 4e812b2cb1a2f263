"""What the routes of approvals name: a release that awaits one, whose author is gone, so that anybody else decides."""

import json
import uuid

from django.utils import timezone

from apps.releases.models import Kind, Release, State
from apps.releases.origin.rows import Approval
from tests.builders.archives import module_zip

DIGEST = "d" * 64
ON_ITS_WAY = dict.fromkeys(
    [f"{edge}:release-{act}" for edge in ("portal", "api") for act in ("approve", "decline")]
    + ["api:release-approval"],
    "awaiting_id",
)
NOWHERE = {"awaiting_id": uuid.UUID(int=0)}


def place(namespace):
    now = timezone.now()
    release = Release.objects.create(
        kind=Kind.MODULE,
        namespace=namespace,
        name="vpc/aws",
        version="9.2.0",
        sort_key=b"\x00approval",
        state=State.AWAITING_APPROVAL,
        staging_key=uuid.uuid4().hex,
        digest=DIGEST,
        uploaded_digest=DIGEST,
        uploaded_size=len(module_zip()),
        size=len(module_zip()),
        received_at=now,
        checked_at=now,
    )
    Approval.objects.create(release=release, digest=DIGEST, asked_at=now, until=now)
    return {"awaiting_id": release.public_id}


_SAID = {"digest": f"sha256:{DIGEST}"}
_NO = _SAID | {"reason": "No"}
BODIES = {
    ("portal:release-approve", "POST"): {"data": _SAID},
    ("portal:release-decline", "POST"): {"data": _NO},
    ("api:release-approve", "POST"): {"data": json.dumps(_SAID), "content_type": "application/json"},
    ("api:release-decline", "POST"): {"data": json.dumps(_NO), "content_type": "application/json"},
}
