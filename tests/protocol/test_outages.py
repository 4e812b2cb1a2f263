"""While the database or the storage is away: metadata answer 503 with Retry-After, artefacts are still served (D6)."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from apps.protocol.locations import location_of


def test_metadata_answer_503_and_when_to_ask_again(tofu, published, database_away, golden, bob):
    published("acme/vpc/aws", "1.2.0")
    clients = (tofu(bob), tofu())
    with database_away():
        answers = [client.get(f"/v1/modules/acme/vpc/aws/{end}")
                   for client in clients for end in ("versions", "1.2.0/download")]  # fmt: skip

    for response in answers:
        assert response.status_code == 503
        assert response.headers["Retry-After"] == "2"
        assert response.headers["Cache-Control"] == "no-store"
        assert response.content == golden("modules_v1/error-503.json")


@pytest.mark.both
def test_archives_go_on_by_capability_and_where_this_process_has_seen_them_public(
    published, pantry, frozen_zip, database_away
):
    private = location_of(published("acme/vpc/aws", "1.2.0", data=frozen_zip + b""), now=datetime.now(tz=UTC))
    seen = published("pantry/vpc/aws", "1.2.0", data=frozen_zip)
    unseen = published("pantry/vpc/aws", "1.3.0")
    public = f"/archives/{seen.digest}/vpc-aws-1.2.0.zip"
    Client().head(public)
    with database_away():
        assert Client().head(private).status_code == 200
        assert Client().get(private).getvalue() == Client().get(public).getvalue() == frozen_zip
        assert Client().get(f"/archives/{unseen.digest}/vpc-aws-1.3.0.zip").status_code == 503

    type(pantry).objects.filter(pk=pantry.pk).update(visibility="private")
    assert Client().head(public).status_code == 401
    with database_away():
        assert Client().head(public).status_code == 503, "it stopped being public"


def test_published_bytes_that_storage_does_not_show_are_an_outage_and_no_404(published):
    release = published("pantry/vpc/aws", "1.2.0")
    shutil.rmtree(Path(settings.DATA_DIR) / "blobs" / "sha256")
    response = Client().get(f"/archives/{release.digest}/vpc-aws-1.2.0.zip")

    assert response.status_code == 503
    assert response.headers["Retry-After"] == "2"
