"""Requests to another registry when all is well, and how they leave: discovery, documents, packages, tokens."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.identity import sealing
from apps.contrib.mirror.asking import registry_calls, upstreams
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import Upstream
from tests.builders import faults, misbehaving
from tests.builders.proxying import proxying
from tests.rows import for_each_row

DISCOVERY = misbehaving.DISCOVERY
MEGABYTE = 1024 * 1024


def get(upstream, url, **more):
    return registry_calls.get_json(upstream, url, max_bytes=MEGABYTE, **more)


@for_each_row(
    ("service", "base"),
    [
        ("/v1/providers/", "{url}/v1/providers/"),
        ("/v1/providers", "{url}/v1/providers/"),
        ("providers/", "{url}/.well-known/providers/"),
        ("https://other.acme.example/v1", "https://other.acme.example/v1/"),
    ],
)
def test_discovery_is_absolute_or_relative_to_its_document(service, base, registry, upstream):
    registry.discovery = {"providers.v1": service, "modules.v1": "/v1/modules/"}
    assert registry_calls.discover(upstream) == base.format(url=registry.url)


def test_discovery_is_relative_to_where_redirects_led(registry, upstream):
    registry.misbehave(DISCOVERY, faults.redirects("/elsewhere/terraform.json"))
    registry.misbehave("/elsewhere/*", faults.says(200, b'{"providers.v1": "p/"}'))
    assert registry_calls.discover(upstream) == f"{registry.url}/elsewhere/p/"


def test_discovery_is_remembered_for_an_hour_and_read_again_after_a_failure(registry, upstream):
    base = registry_calls.discover(upstream)
    fresh = Upstream.objects.get(pk=upstream.pk)
    assert registry_calls.discover(fresh) == base == fresh.discovered
    assert registry.count(DISCOVERY) == 1

    Upstream.objects.update(discovered_at=timezone.now() - timedelta(minutes=61))
    registry_calls.discover(fresh)
    assert registry.count(DISCOVERY) == 2

    registry.misbehave("*/versions", faults.says(403))
    with pytest.raises(FetchFailed):
        get(upstream, f"{base}acme/tool/versions")
    registry_calls.discover(fresh)
    assert registry.count(DISCOVERY) == 3


@for_each_row(
    ("document", "code", "text"),
    [
        ({"modules.v1": "/v1/modules/"}, "no_providers", "found an object without providers.v1, expected the URL"),
        ({"providers.v1": {"a": 1}}, "no_providers", "found providers.v1 as {'a': 1}, expected the URL"),
        ({"providers.v1": ""}, "no_providers", "expected the URL"),
        ({"providers.v1": "ftp://127.0.0.1/"}, "bad_discovery", r"expected an http\(s\) URL or a path"),
        ({"providers.v1": "https://user:word@acme.example/"}, "bad_discovery", "expected an http"),
        ({"providers.v1": "https://acme.example:x/"}, "bad_discovery", "expected an http"),
        ({"providers.v1": "/v1?token=pears"}, "bad_discovery", "expected an http"),
        ({"providers.v1": "/" + "a" * 600}, "bad_discovery", "expected at most 500"),
        ([], "bad_shape", "found JSON that is a list, expected an object"),
    ],
)
def test_a_discovery_document_of_another_shape_is_refused(document, code, text, registry, upstream):
    registry.discovery = document
    with pytest.raises(FetchFailed, match=text) as refused:
        registry_calls.discover(upstream)
    assert (refused.value.code, refused.value.url) == (code, registry.url + DISCOVERY)
    assert refused.value.is_final
    upstream.refresh_from_db()
    assert upstream.discovered == ""
    assert upstream.failure["code"] == code


def test_conditional_requests_say_that_nothing_changed(registry, upstream):
    url = registry.url + registry.add_provider().list_path
    first = get(upstream, url)
    assert first.body is not None
    assert first.body["versions"][0]["version"] == "1.0.0"
    assert not first.is_unchanged
    assert first.at is not None
    assert abs(timezone.now() - first.at) < timedelta(minutes=1)

    again = get(upstream, url, etag=first.etag, last_modified=first.last_modified)
    assert (again.body, again.is_unchanged) == (None, True)
    assert (again.etag, again.last_modified) == (first.etag, first.last_modified)
    assert registry.requests[-1].headers["if-modified-since"] == first.last_modified

    registry.misbehave("*/versions", faults.says(304))
    with pytest.raises(FetchFailed, match="the answer was 304"):
        get(upstream, url)  # nothing was known that could be unchanged


def test_packages_stream_and_tell_their_size(registry, upstream):
    tool = registry.add_provider(size=600_000)
    url = f"{registry.url}{tool.zip_path('1.0.0')}?X-Signature=pears"
    with registry_calls.stream(upstream, url, max_bytes=MEGABYTE) as download:
        pieces = list(download.chunks)
    assert b"".join(pieces) == tool.zip("1.0.0")
    assert len(pieces) > 1
    assert (download.size, download.url) == (len(tool.zip("1.0.0")), url.partition("?")[0])
    assert registry_calls.get_all_bytes(upstream, {registry.url + tool.sums_path("1.0.0"): 1000}) == [
        tool.sums("1.0.0")
    ]


def test_the_size_of_a_package_comes_from_head_or_from_one_byte(registry, upstream):
    tool = registry.add_provider()
    url, size = registry.url + tool.zip_path("1.0.0"), len(tool.zip("1.0.0"))
    assert registry_calls.size_of(upstream, url) == size
    assert [request.method for request in registry.requests] == ["HEAD"]

    registry.misbehave("*.zip", faults.says(403), times=1)  # as signed links answer to HEAD
    assert registry_calls.size_of(upstream, url) == size
    assert registry.requests[-1].headers["range"] == "bytes=0-0"

    registry.misbehave("*.zip", faults.says(404))
    with pytest.raises(FetchFailed, match=r"the answer was 404 \(Not Found\)"):
        registry_calls.size_of(upstream, url)


def sealed(upstream):
    upstream.sealed_token = sealing.seal("pears", upstreams.PURPOSE)
    upstream.save(update_fields=["sealed_token"])


def test_the_token_goes_to_discovery_and_providers_and_to_no_other_host(registry, upstream):
    sealed(upstream)
    registry.token = "pears"
    tool = registry.add_provider()
    with misbehaving.running() as elsewhere:
        base = registry_calls.discover(upstream)
        get(upstream, f"{base}acme/tool/versions")
        registry_calls.get_all_bytes(upstream, {f"{elsewhere.url}{DISCOVERY}": 1000})
        registry_calls.size_of(upstream, f"{elsewhere.url}{DISCOVERY}")
        registry.misbehave("*/versions", faults.redirects(f"{elsewhere.url}{DISCOVERY}"))
        get(upstream, f"{base}acme/tool/versions")
        assert [request.headers.get("authorization") for request in elsewhere.requests] == [None, None, None]
    assert {request.headers.get("authorization") for request in registry.requests} == {"Bearer pears"}
    assert tool.list_path == registry.requests[-1].path


def test_the_token_goes_to_the_host_that_discovery_names(registry, upstream):
    sealed(upstream)
    with misbehaving.running() as services:
        services.token = "pears"
        tool = services.add_provider()
        registry.discovery = {"providers.v1": f"{services.url}/v1/providers/"}
        registry_calls.discover(upstream)
        assert get(upstream, services.url + tool.list_path).body is not None


def test_the_token_of_an_https_registry_is_never_sent_in_clear(registry, tls_registry, tls_upstream):
    sealed(tls_upstream)
    tls_registry.discovery = {"providers.v1": f"{registry.url}/v1/providers/"}
    base = registry_calls.discover(tls_upstream)
    tool = registry.add_provider()
    assert base == f"{registry.url}/v1/providers/"
    assert get(tls_upstream, registry.url + tool.list_path).body is not None
    assert "authorization" not in registry.requests[0].headers
    assert tls_registry.requests[0].headers["authorization"] == "Bearer pears"


def test_a_token_that_cannot_be_read_is_a_failure_with_a_name(registry, upstream, settings):
    sealed(upstream)
    settings.SECRET_KEY = "another" * 10
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(FetchFailed, match="its token cannot be read") as refused:
        registry_calls.discover(upstream)
    assert (refused.value.code, refused.value.rule) == ("token_unreadable", "token")
    assert registry.requests == []


def test_a_private_authority_of_the_row_or_of_the_file_is_trusted(tls_registry, tls_upstream, settings, tmp_path):
    assert registry_calls.discover(tls_upstream)
    tls_upstream.ca = ""
    with pytest.raises(FetchFailed, match="its certificate is not trusted: unable to get local issuer") as refused:
        get(tls_upstream, tls_registry.url + DISCOVERY)
    assert (refused.value.code, refused.value.rule, refused.value.is_final) == ("not_trusted", "certificate", True)

    file = tmp_path / "authorities.pem"
    file.write_text(tls_registry.ca)
    settings.UPSTREAM = replace(settings.UPSTREAM, ca_file=str(file))
    assert get(tls_upstream, tls_registry.url + DISCOVERY).body is not None
    file.unlink()
    with pytest.raises(FetchFailed, match="LARDER_OUTGOING_CA_FILE or the certificates of the registry cannot be read"):
        get(tls_upstream, tls_registry.url + DISCOVERY)


def test_the_proxy_of_the_row_comes_before_the_one_for_all(registry, upstream, settings):
    with proxying() as own, proxying() as common:
        settings.UPSTREAM = replace(settings.UPSTREAM, proxy=common.url)
        get(upstream, registry.url + DISCOVERY)
        upstream.proxy = own.url
        get(upstream, registry.url + DISCOVERY)
    assert (len(common.asked), len(own.asked)) == (1, 1)
    upstream.proxy = "https://proxy.acme.example"
    with pytest.raises(FetchFailed, match="the outgoing proxy has no http:// URL"):
        get(upstream, registry.url + DISCOVERY)
