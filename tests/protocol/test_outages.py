"""While the database or the storage is away: metadata answer 503 with Retry-After, artefacts are still served (D6)."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from apps.protocol.locations import location_of

pytestmark = pytest.mark.both


@pytest.mark.parametrize("end", ["versions", "1.2.0/download"])
@pytest.mark.parametrize("who", ["bob", None])
def test_metadata_answer_503_and_when_to_ask_again(request, tofu, published, database_away, golden, end, who):
    published("acme/vpc/aws", "1.2.0")
    client = tofu(request.getfixturevalue(who) if who else None)
    with database_away():
        response = client.get(f"/v1/modules/acme/vpc/aws/{end}")

    assert response.status_code == 503
    assert response.headers["Retry-After"] == "2"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.content == golden("modules_v1/error-503.json")


def test_capability_urls_go_on(published, frozen_zip, database_away):
    release = published("acme/vpc/aws", "1.2.0", data=frozen_zip)
    url = location_of(release, now=datetime.now(tz=UTC))
    with database_away():
        assert Client().head(url).status_code == 200
        assert Client().get(url).getvalue() == frozen_zip


def test_public_archives_go_on_where_this_process_has_seen_them_public(published, frozen_zip, database_away):
    seen = published("pantry/vpc/aws", "1.2.0", data=frozen_zip)
    unseen = published("pantry/vpc/aws", "1.3.0")
    Client().head(f"/archives/{seen.digest}/vpc-aws-1.2.0.zip")
    with database_away():
        assert Client().get(f"/archives/{seen.digest}/vpc-aws-1.2.0.zip").getvalue() == frozen_zip
        assert Client().get(f"/archives/{unseen.digest}/vpc-aws-1.3.0.zip").status_code == 503


def test_a_digest_that_stopped_being_public_does_not_go_on(published, pantry, frozen_zip, database_away):
    release = published("pantry/vpc/aws", "1.2.0", data=frozen_zip)
    url = f"/archives/{release.digest}/vpc-aws-1.2.0.zip"
    assert Client().head(url).status_code == 200
    type(pantry).objects.filter(pk=pantry.pk).update(visibility="private")
    assert Client().head(url).status_code == 401
    with database_away():
        assert Client().head(url).status_code == 503


def test_published_bytes_that_storage_does_not_show_are_an_outage_and_no_404(published):
    release = published("pantry/vpc/aws", "1.2.0")
    shutil.rmtree(Path(settings.DATA_DIR) / "blobs" / "sha256")
    response = Client().get(f"/archives/{release.digest}/vpc-aws-1.2.0.zip")

    assert response.status_code == 503
    assert response.headers["Retry-After"] == "2"
