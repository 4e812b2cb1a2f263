"""A damaged file is an outage of the registry at every edge: 503 and when to ask again, never the wrong bytes."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from apps.blobs import store
from apps.blobs.care import scrub
from apps.blobs.care.integrity import known
from apps.protocol.locations import location_of
from apps.releases.models import Release
from tests.builders.archives import module_zip

FILES = {"main.tf": b'variable "a" {}\n', "README.md": b"# Read me\n"}


def path_of(release: Release) -> Path:
    return Path(settings.DATA_DIR) / "blobs" / "sha256" / release.digest[:2] / release.digest


def damage(release: Release) -> None:
    path = path_of(release)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(data)


def check() -> None:
    """Run the nightly check, then let the web process notice, as each does within two seconds."""
    scrub.scrub(now=timezone.now() + timedelta(days=1))
    known.renew()


@pytest.fixture
def public(published) -> Release:
    return published("pantry/vpc/aws", "1.2.0", data=module_zip(FILES))


@pytest.fixture
def urls(public, published) -> list[str]:
    """The same bytes by every way on which a client fetches them."""
    private = published("acme/vpc/aws", "1.2.0", data=path_of(public).read_bytes())
    assert private.digest == public.digest
    return [
        f"/archives/{public.digest}/vpc-aws-1.2.0.zip",
        location_of(private, now=datetime.now(tz=UTC)),
        f"/v2/pantry/vpc/aws/blobs/sha256:{public.digest}",
    ]


def refused(answer) -> bool:
    return answer.status_code == 503 and answer.headers["Retry-After"] == "2"


@pytest.mark.parametrize(
    "ask", [Client.get, Client.head, lambda client, url: client.get(url, headers={"Range": "bytes=1-3"})]
)
def test_what_the_check_found_is_503_at_every_edge(urls, public, ask: Callable, tofu, alice):
    for url in urls:
        answer = ask(tofu(alice), url)
        assert answer.status_code in (200, 206), url
        answer.getvalue()
    damage(public)
    check()

    for url in urls:
        assert refused(ask(tofu(alice), url)), url


def test_before_any_check_the_first_to_fetch_it_is_refused_and_the_rest_with_them(urls, public, tofu, alice):
    damage(public)
    assert refused(Client().get(urls[0]))
    for url in urls:
        assert refused(tofu(alice).head(url)), url


def test_a_large_one_breaks_before_its_end(published):
    release = published("pantry/vpc/aws", "1.2.0", data=module_zip({"main.tf": b"", "noise": os.urandom(1024 * 1024)}))
    damage(release)
    answer = Client().get(f"/archives/{release.digest}/vpc-aws-1.2.0.zip")
    assert answer.status_code == 200
    came: list[int] = []
    with pytest.raises(store.DamagedInStorage):
        came.extend(map(len, answer))

    assert 0 < sum(came) < int(answer.headers["Content-Length"])


def test_while_the_database_is_away_the_last_that_was_known_holds(urls, public, published, database_away):
    other = published("acme/other/aws", "1.0.0")
    damage(public)
    check()
    sound = location_of(other, now=datetime.now(tz=UTC))
    with database_away():
        assert refused(Client().get(urls[1]))
        assert Client().get(sound).getvalue()


def test_it_is_served_again_once_a_check_has_read_the_right_bytes(urls, public, tofu, alice):
    right = path_of(public).read_bytes()
    damage(public)
    check()
    path_of(public).write_bytes(right)
    assert refused(Client().get(urls[0])), "nobody has looked yet"
    scrub.recheck(now=timezone.now() + timedelta(days=2))
    known.renew()

    for url in urls:
        assert tofu(alice).get(url).getvalue() == right


def test_it_asks_the_database_no_more_than_before(urls, public, tofu, alice, django_assert_num_queries):
    check()
    Client().get(urls[1]).getvalue()
    with django_assert_num_queries(1):
        Client().get(urls[1]).getvalue()


def test_no_page_shows_a_file_out_of_it(public, browser_of):
    damage(public)
    check()
    for page in ("files/main.tf", "raw/main.tf"):
        answer = browser_of(None).get(f"/modules/pantry/vpc/aws/1.2.0/{page}")
        assert b'variable "a"' not in answer.content
        assert refused(answer), page
