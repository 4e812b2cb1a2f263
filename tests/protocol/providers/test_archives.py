"""A package, its sums and its signature on the wire: as a module's archive, and all three stop with their version."""

import json

import pytest
from django.test import Client

from apps.releases.models import Lifecycle, Release
from tests.protocol.providers import cast
from tests.rows import for_each_row

LINKS = ("download_url", "shasums_url", "shasums_signature_url")
TYPES = ("application/zip", "text/plain; charset=utf-8", "application/octet-stream")


@pytest.fixture
def links(tofu, bob, acme, pantry):
    """The three links of acme/dns 1.2.0, or of the public pantry/dns 1.2.0: other bytes, for another type."""
    cast.add_version(cast.frozen_key(acme), None, "dns", "1.2.0")
    cast.add_version(cast.frozen_key(pantry), None, "names", "1.2.0")
    client = tofu(bob)

    def of(name: str) -> list[str]:
        url = {"acme": "/v1/providers/acme/dns", "pantry": "/v1/providers/pantry/names"}[name]
        document = json.loads(client.get(f"{url}/1.2.0/download/linux/amd64").content)
        return [document[link] for link in LINKS]

    return of


def statuses(urls, client=None) -> set[int]:
    return {(client or Client()).head(url).status_code for url in urls}


def plain(urls) -> list[str]:
    return ["/archives/" + "/".join(url.split("/")[-2:]) for url in urls]


@for_each_row(("name", "cache"), [("acme", "private"), ("pantry", "public, max-age=300")])
def test_m11_they_serve_head_get_and_ranges_many_times_unencoded_by_one_query(
    links, name, cache, django_assert_num_queries
):
    for url, media_type in zip(links(name), TYPES, strict=True):
        client = Client(headers={"Accept-Encoding": "gzip, br"})
        with django_assert_num_queries(1):
            head = client.head(url)
        whole, again = client.get(url), client.get(url)
        part = client.get(url, headers={"Range": "bytes=2-5"})
        body = whole.getvalue()

        assert body == again.getvalue()
        assert (part.status_code, part.getvalue()) == (206, body[2:6])
        assert head.headers["Content-Length"] == str(len(body))
        for response in (head, whole):
            assert response.headers["Content-Type"] == media_type
            assert response.headers["Cache-Control"] == cache
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert "Content-Encoding" not in response.headers
            assert response.headers["Content-Disposition"].endswith(f'"{url.rpartition("/")[2]}"')


def test_quarantine_stops_package_sums_and_signature_by_every_link_and_a_yank_none(links, tofu, olga):
    private, public = links("acme"), links("pantry")
    Release.objects.update(lifecycle=Lifecycle.YANKED)
    assert statuses(private) == statuses(public) == {200}
    Release.objects.update(quarantined_at=cast.FIRST)

    assert statuses(private) == {404}
    assert statuses(plain(private), tofu(olga)) == {404}
    assert statuses(public) == {401}
    Release.objects.update(quarantined_at=None)
    assert statuses(private) == statuses(public) == {200}


@for_each_row("name", ["x_SHA256SUMS.asc", "SHA256SUMS", "x.sig", "x_SHA256SUMS.sig.sig", "x_sha256sums"])
def test_file_names_that_no_answer_has_are_not_served(links, name):
    head, _, _ = plain(links("pantry"))[1].rpartition("/")

    assert Client().get(f"{head}/{name}").status_code == 401
