"""Lists of versions, and the downloads that they lead to: the same rules for modules and providers."""

from itertools import product

import pytest

from apps.releases.models import Lifecycle, Release
from tests.protocol.providers import cast

ROUTES = {
    "modules": ("{}/vpc/aws/versions", "{}/vpc/aws/1.2.0/download"),
    "providers": ("{}/dns/versions", "{}/dns/1.2.0/download/linux/amd64"),
}
METHODS = ("post", "put", "patch", "delete", "options")


@pytest.fixture(params=ROUTES)
def kind(request):
    return request.param


@pytest.fixture
def urls(kind, acme, hall, pantry, published):
    """The routes of version 1.2.0 in a namespace; it is published in each."""
    for namespace in (acme, hall, pantry):
        if kind == "modules":
            published(f"{namespace}/vpc/aws", "1.2.0")
        else:
            cast.add_version(cast.frozen_key(namespace), None, "dns", "1.2.0")
    return lambda name="acme": [f"/v1/{kind}/{route.format(name)}" for route in ROUTES[kind]]


def test_m14_nobody_reads_the_same_401_for_hidden_and_unknown(urls, tofu, golden):
    hidden = [url for name in ("acme", "nowhere", "hall", "Acme") for url in urls(name)]
    for url in [*hidden, *(url.replace("/vpc", "/nothing").replace("/dns", "/nothing") for url in urls())]:
        response = tofu().get(url)

        assert response.status_code == 401, url
        assert response.headers["WWW-Authenticate"] == (
            'Bearer realm="Larder", error_description="This is unknown or private: check the spelling, or log in."'
        ), url
        assert response.content == golden("modules_v1/error-401.json"), url


def test_m14_a_stranger_reads_the_same_404_for_hidden_and_unknown(urls, tofu, charlie):
    client = tofu(charlie)
    for there, nowhere in zip(urls("acme"), urls("acmx"), strict=True):
        hidden, unknown = client.get(there), client.get(nowhere)

        assert (hidden.status_code, unknown.status_code) == (404, 404)
        assert hidden.content.replace(b"acme", b"") == unknown.content.replace(b"acmx", b"")


def test_other_methods_are_refused_in_json_and_head_answers_as_get_without_a_body(urls, tofu, bob):
    client = tofu(bob)
    for url in urls():
        for method in METHODS:
            response = getattr(client, method)(url)
            assert response.status_code == 405, (method, url)
            assert response.headers["Allow"] == "GET, HEAD", (method, url)
            assert response.headers["Content-Type"] == "application/json", (method, url)
        response = client.head(url)
        assert (response.status_code, response.content) == (200, b""), url


def test_versions_are_matched_by_value(urls, tofu, bob):
    Release.objects.update(version="1.2.0+b1")
    _, download = urls()

    for asked in ("1.2.0+b1", "1.2.0", "1.2.0+other", "1.2.0%2Bb1"):
        assert tofu(bob).get(download.replace("1.2.0", asked)).status_code == 200, asked


@pytest.mark.both
def test_yanked_is_in_no_list_and_answers_who_names_it_and_quarantined_answers_nobody(urls, kind, tofu, bob, charlie):
    """An empty list, and no 404: people would look for a spelling mistake."""
    client, (versions, download) = tofu(bob), urls()

    def listed():
        document = client.get(versions).json()
        return [one["version"] for one in (document["modules"][0] if kind == "modules" else document)["versions"]]

    Release.objects.update(lifecycle=Lifecycle.DEPRECATED, lifecycle_reason="Old.")
    assert listed() == ["1.2.0"]
    Release.objects.update(lifecycle=Lifecycle.YANKED)
    assert (listed(), client.get(download).status_code) == ([], 200)
    assert (tofu(charlie).get(versions).status_code, tofu().get(versions).status_code) == (404, 401)
    Release.objects.update(lifecycle=Lifecycle.MAINTAINED)
    assert listed() == ["1.2.0"]
    Release.objects.update(quarantined_at=cast.FIRST)
    assert [client.get(url).status_code for url in (versions, download)] == [404, 404]


def test_no_answer_carries_a_secret_in_a_metadata_url(urls, tofu, bob):
    """Clients print metadata URLs in their errors; so nothing redirects, and the token stays in its header."""
    for client, url in product((tofu(bob), tofu()), urls()):
        response = client.get(url)
        assert response.status_code in (200, 401)
        assert "Location" not in response.headers
        assert b"lrd_" not in response.content
