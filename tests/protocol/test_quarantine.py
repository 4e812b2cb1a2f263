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

pytestmark = pytest.mark.both


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


@pytest.mark.parametrize("who", ["bob", "dora", "olga"])
def test_lists_and_downloads_know_it_no_more(request, published, tofu, act, who):
    published(version="1.2.0")
    published(version="1.1.0")
    act(lifecycle.quarantine)
    client = tofu(request.getfixturevalue(who))

    assert b"1.2.0" not in client.get("/v1/modules/acme/vpc/aws/versions").content
    assert client.get("/v1/modules/acme/vpc/aws/1.2.0/download").status_code == 404
    assert client.get("/v1/modules/acme/vpc/aws/1.1.0/download").status_code == 200


def test_a_module_with_nothing_else_is_unknown(published, tofu, bob, act):
    published()
    act(lifecycle.quarantine)

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


def test_it_is_about_bytes_wherever_they_are_published(published, act, frozen_zip):
    one = published("acme/vpc/aws", data=frozen_zip)
    twin = published("pantry/copy/aws", "3.0.0", data=frozen_zip)
    assert one.digest == twin.digest
    assert Client().head(plain(twin)).status_code == 200
    act(lifecycle.quarantine)

    assert Client().head(plain(twin)).status_code == 401, "as if it were not there"
    assert Client().head(url_of(one)).status_code == 404
    act(lifecycle.restore)
    assert Client().head(plain(twin)).status_code == 200


def test_a_purge_does_not_lift_the_quarantine_of_the_same_bytes_elsewhere(published, act, frozen_zip):
    published("acme/vpc/aws", data=frozen_zip)
    twin = published("pantry/copy/aws", "3.0.0", data=frozen_zip)
    act(lifecycle.quarantine)
    act(lifecycle.purge, confirm="acme/vpc/aws 1.2.0")

    assert Client().head(plain(twin)).status_code == 401
    act(lifecycle.restore)
    assert Client().head(plain(twin)).status_code == 200
    assert Release.objects.get(version="1.2.0").state == "purged", "only the quarantine is lifted"


def test_a_purged_archive_is_not_served_by_its_old_link(published, act):
    release = published()
    link = url_of(release)
    act(lifecycle.purge, confirm="acme/vpc/aws 1.2.0")

    assert Client().get(link).status_code == 404


def test_while_the_database_is_away_the_last_that_was_known_holds(published, act, database_away):
    held, free = published(version="1.2.0"), published(version="1.3.0")
    act(lifecycle.quarantine)
    blocked.renew()
    stopped, goes_on = url_of(held), url_of(free)
    with database_away():
        assert Client().head(stopped).status_code == 404
        assert Client().head(goes_on).status_code == 200


def test_public_archives_hold_to_it_too(published, act, database_away):
    held, free = published("pantry/vpc/aws", "1.2.0"), published("pantry/vpc/aws", "1.3.0")
    for release in (held, free):
        assert Client().head(plain(release)).status_code == 200
    act(lifecycle.quarantine, "pantry/vpc/aws")
    blocked.renew()
    with database_away():
        assert Client().head(plain(held)).status_code == 503, "this process never saw it public since"
        assert Client().head(plain(free)).status_code == 200


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
