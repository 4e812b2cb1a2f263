"""What the routes of checks name: a report about the release of the scene, and a release that waits for one."""

import json
import uuid
from datetime import timedelta

from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.contrib.checks import sending
from apps.contrib.checks.models import Hold
from apps.contrib.checks.reading import child
from apps.contrib.checks.tests import samples
from apps.releases.models import Kind, Release, State

DIGEST = "c" * 64
NOWHERE = {"check": "checkov", "waiting_for_checks_id": uuid.UUID(int=1)}
_JSON = "application/json"


def place(namespace, users):
    viewer = Viewer(users["alice"])
    for release in Release.objects.filter(namespace=namespace, version="1.0.0", state=State.PUBLISHED):
        read = child.read(samples.FINDINGS), "0" * 64
        sending.send(viewer=viewer, release=release, name="checkov", read=read, digest="")
    now = timezone.now()
    waiting = Release.objects.create(
        kind=Kind.MODULE,
        namespace=namespace,
        name="vpc/aws",
        version="9.3.0",
        sort_key=b"\x00checks",
        state=State.AWAITING_APPROVAL,
        staging_key=uuid.uuid4().hex,
        created_by=users["alice"],
        digest=DIGEST,
        uploaded_digest=DIGEST,
        uploaded_size=1,
        size=1,
        received_at=now,
        checked_at=now,
    )
    until = now + timedelta(days=14)
    Hold.objects.create(release=waiting, digest=DIGEST, missing=["x: no report was sent"], since=now, until=until)
    return {"check": "checkov", "waiting_for_checks_id": waiting.public_id}


def bodies():
    waiver = {"digest": f"sha256:{DIGEST}", "reason": "No"}
    policy = {"mode": "warn", "requirements": [{"name": "checkov"}]}
    form = {"mode": "warn", "required-TOTAL_FORMS": "0", "required-INITIAL_FORMS": "0"}
    report = {"data": samples.CLEAN, "content_type": "application/sarif+json"}
    return {
        ("api:module-check", "PUT"): report,
        ("api:provider-check", "PUT"): report,
        ("api:namespace-checks", "PUT"): {"data": json.dumps(policy), "content_type": _JSON},
        ("api:release-waive-checks", "POST"): {"data": json.dumps(waiver), "content_type": _JSON},
        ("portal:release-waive-checks", "POST"): {"data": waiver},
        ("portal:namespace-checks", "POST"): {"data": form},
    }
