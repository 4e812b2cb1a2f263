"""Verifying what is stored of a provider's version: every blob, and the signature with the public key alone."""

from pathlib import Path

import pytest
from django.conf import settings

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.providers import lifecycle
from apps.providers.models import Package, ProviderVersion
from apps.providers.tasks import verify_provider
from apps.releases.models import Release
from apps.signing import keys
from apps.signing.models import SigningKey
from apps.signing.models import State as KeyState
from registry_site.operations import verifying
from tests.providers.draft_client import LINUX, SIGNATURE, URL, dist, signed


@pytest.fixture
def version(draft_client, registered) -> ProviderVersion:
    assert draft_client.publish(signed(dist()))["state"] == "published"
    return ProviderVersion.objects.get()


@pytest.fixture
def verify(tofu, olga):
    def do():
        response = tofu(olga).generic("POST", f"{URL}/verify")
        assert response.status_code == 202, response.content
        job = Job.objects.get(kind=lifecycle.VERIFY_JOB, state="queued")
        verify_provider(job_id=job.pk)
        job.refresh_from_db()
        assert job.state == "succeeded"
        return Release.objects.get(), AuditEvent.objects.latest("pk")

    return do


def found(release):
    return [(one["name"], one["outcome"]) for one in release.verified_findings]


def test_every_blob_and_the_signature_are_verified_and_named_where_they_are_not_sound(version, verify, damage):
    """tests/releases/test_verification.py has the rules of all releases."""
    release, event = verify()
    assert (release.verified_as, release.verified_findings) == ("sound", [])
    assert (event.kind, event.detail["checked"]) == ("namespace:release:verified", 5), "four blobs, and the signature"

    package, digest = Package.objects.get(os="linux"), version.signature_digest
    damage(package.digest)
    (Path(settings.DATA_DIR) / "blobs" / "sha256" / digest[:2] / digest).unlink()
    release, event = verify()
    assert sorted(found(release)) == [(SIGNATURE, "missing"), (LINUX, "damaged")]
    assert (event.kind, event.subject) == ("namespace:release:damaged", "acme/dns 1.2.0")


def test_changed_sums_spoil_the_signature_as_well_until_they_are_mended(version, verify, damage):
    damage(version.sums_digest)
    release, _ = verify()
    assert sorted(outcome for _, outcome in found(release)) == ["damaged", "refused"]
    assert release.verified_as == "damaged"

    damage(version.sums_digest)  # the same byte again
    assert verify()[0].verified_as == "sound"


def test_a_retired_key_goes_on_and_a_revoked_one_is_refused(version, verify, dora):
    keys.retire(key=version.key, actor=Viewer(dora), reason="Replaced.")
    assert verify()[0].verified_as == "sound"
    version.key.refresh_from_db()
    keys.revoke(key=version.key, actor=Viewer(dora), reason="It leaked.")
    release, _ = verify()

    assert found(release) == [(f"signature by {version.key}", "refused")]
    assert "which was revoked" in release.verified_findings[0]["found"]


def test_the_command_verifies_signatures_as_well(version):
    assert [verdict.problems for verdict in verifying.verify()] == [[]]
    SigningKey.objects.update(state=KeyState.REVOKED)

    assert any("which was revoked" in problem for verdict in verifying.verify() for problem in verdict.problems)
