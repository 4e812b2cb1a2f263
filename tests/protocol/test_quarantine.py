"""Nothing of a quarantined version is served: no list, no download, no archive by any link (D6, D9)."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from apps.protocol.locations import location_of
from apps.releases.lifecycle.quarantine import Blocked, blocked
from apps.releases.models import Release


@pytest.fixture
def act(olga):
    def do(verb, address="acme/vpc/aws", version="1.2.0", **more):
        where = ModuleAddress.parse(address)
        return verb(viewer=Viewer(olga), address=where, version=version, reason="Malware.", **more)

    return do


def url_of(release) -> str:
    return location_of(release, now=datetime.now(tz=UTC)).partition("?")[0]


def plain(release) -> str:
    return f"/archives/{release.digest}/vpc-aws-1.2.0.zip"


def test_lists_and_downloads_know_it_no_more_and_a_module_with_nothing_else_is_unknown(
    published, tofu, act, bob, dora, olga
):
    published(version="1.2.0")
    published(version="1.1.0")
    act(lifecycle.quarantine)
    for client in map(tofu, (bob, dora, olga)):
        assert b"1.2.0" not in client.get("/v1/modules/acme/vpc/aws/versions").content
        assert client.get("/v1/modules/acme/vpc/aws/1.2.0/download").status_code == 404
        assert client.get("/v1/modules/acme/vpc/aws/1.1.0/download").status_code == 200

    act(lifecycle.quarantine, version="1.1.0")
    assert tofu(bob).get("/v1/modules/acme/vpc/aws/versions").status_code == 404


def test_links_that_are_out_stop_and_work_again_when_it_is_lifted(published, tofu, olga, act, basic):
    private, public = published("acme/vpc/aws"), published("pantry/vpc/aws", "1.2.0", data=None)
    links = [url_of(private), plain(private)]
    assert Client().head(links[0]).status_code == 200
    act(lifecycle.quarantine)
    act(lifecycle.quarantine, "pantry/vpc/aws")

    assert Client().head(links[0]).status_code == 404
    assert Client().get(links[0]).status_code == 404
    for owner_of_all in (tofu(olga), Client(headers=basic(olga))):
        assert owner_of_all.get(links[1]).status_code == 404
        assert owner_of_all.get(links[0]).status_code == 404
    assert Client().head(plain(public)).status_code == 401
    act(lifecycle.restore)
    act(lifecycle.restore, "pantry/vpc/aws")
    assert Client().head(links[0]).status_code == 200
    assert Client().head(plain(public)).status_code == 200


@pytest.mark.both
def test_it_is_about_bytes_wherever_they_are_published_also_after_a_purge(published, act, frozen_zip):
    one = published("acme/vpc/aws", data=frozen_zip)
    twin = published("pantry/copy/aws", "3.0.0", data=frozen_zip)
    assert one.digest == twin.digest
    assert Client().head(plain(twin)).status_code == 200
    act(lifecycle.quarantine)
    assert Client().head(plain(twin)).status_code == 401, "as if it were not there"
    assert Client().head(url_of(one)).status_code == 404
    act(lifecycle.restore)
    assert Client().head(plain(twin)).status_code == 200

    act(lifecycle.quarantine)
    act(lifecycle.purge, confirm="acme/vpc/aws 1.2.0")
    assert Client().head(plain(twin)).status_code == 401
    act(lifecycle.restore)
    assert Client().head(plain(twin)).status_code == 200
    assert Release.objects.get(version="1.2.0").state == "purged", "only the quarantine is lifted"


def test_a_purged_archive_is_not_served_by_its_old_link(published, act):
    link = url_of(published())
    act(lifecycle.purge, confirm="acme/vpc/aws 1.2.0")

    assert Client().get(link).status_code == 404


def test_while_the_database_is_away_the_last_that_was_known_holds(published, act, database_away):
    private = [published("acme/vpc/aws", version) for version in ("1.2.0", "1.3.0")]
    public = [published("pantry/vpc/aws", version, data=None) for version in ("1.2.0", "1.3.0")]
    links = [*map(url_of, private), *map(plain, public)]
    assert [Client().head(link).status_code for link in links] == [200] * 4
    for address in ("acme/vpc/aws", "pantry/vpc/aws"):
        act(lifecycle.quarantine, address)
    blocked.renew()
    with database_away():
        # This process never saw the public one public since.
        assert [Client().head(link).status_code for link in links] == [404, 200, 503, 200]


def test_what_is_known_is_renewed_by_a_thread_and_kept_while_it_cannot_be(published, act, database_away):
    release = published()
    known = Blocked()
    known.renew()
    assert release.digest not in known
    act(lifecycle.quarantine)
    known.renew()
    assert release.digest in known
    with database_away(), pytest.raises(Exception, match="connection refused"):
        known.renew()
    assert release.digest in known
