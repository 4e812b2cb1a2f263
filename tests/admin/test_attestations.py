"""Attestations in the admin: read by staff, with whom each names, and never called verified."""

from apps.accounts.access.gate import Viewer
from apps.provenance import attesting
from apps.provenance.models import Attestation
from tests.admin.lists import list_of, page_of
from tests.builders import attestations


def test_staff_look_at_what_was_attached(operator_client, published, alice):
    release = published()
    content = attestations.bundle(release.digest)
    row = attesting.attach(release=release, viewer=Viewer(alice), content=content, media_type="")

    assert row.digest[:12] in operator_client.get(list_of(Attestation, q="acme/vpc")).text
    assert row.digest[:12] not in operator_client.get(list_of(Attestation, q="acme/dns")).text
    page = operator_client.get(page_of(row)).text
    assert attestations.WORKFLOW in page
    assert "not verified by Larder" in page
