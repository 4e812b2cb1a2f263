"""Reading stored bytes again says what they are."""

from pathlib import Path

import pytest
from django.conf import settings

from apps.accounts.access.gate import NOBODY
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.lib.errors import Conflict
from apps.releases.lifecycle import verification
from apps.releases.tasks import verify_release

pytestmark = pytest.mark.usefixtures("shelf")


def stored(release):
    return Path(settings.DATA_DIR) / "blobs" / "sha256" / release.digest[:2] / release.digest


def verify(release):
    verification.request(release, actor=NOBODY)
    verify_release(job_id=Job.objects.get(kind=verification.JOB, state="queued").pk)
    assert Job.objects.filter(kind=verification.JOB).latest("pk").state == "succeeded"
    event = AuditEvent.objects.latest("pk")
    assert event.subject == str(release)
    release.refresh_from_db()
    assert release.verified_at is not None
    assert (event.detail["outcome"], event.detail["findings"]) == (release.verified_as, release.verified_findings)
    assert event.kind == f"namespace:release:{'verified' if release.verified_as == 'sound' else 'damaged'}"
    return event.detail


def test_sound_bytes_are_called_sound_and_missing_ones_missing(published):
    release = published()
    detail = verify(release)
    assert (detail["outcome"], detail["checked"], detail["findings"]) == ("sound", 1, [])

    stored(release).unlink()
    assert verify(release)["outcome"] == "missing"


def test_one_changed_byte_is_found(published):
    release = published()
    path = stored(release)
    path.chmod(0o600)
    data = bytearray(path.read_bytes())
    data[10] ^= 1
    path.write_bytes(data)
    detail = verify(release)

    assert detail["outcome"] == "damaged"
    (finding,) = detail["findings"]
    assert finding["found"] != release.digest == finding["digest"]


@pytest.mark.both
def test_two_who_ask_at_once_are_told_and_only_what_is_published_is_verified(published):
    release = published()
    verification.request(release, actor=NOBODY)
    with pytest.raises(Conflict, match="already"):
        verification.request(release, actor=NOBODY)
    release.state = "purged"
    with pytest.raises(Conflict, match="only published"):
        verification.request(release, actor=NOBODY)
