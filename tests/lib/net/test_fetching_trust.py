"""TLS with private authorities, and outgoing proxies."""

import ssl

import pytest

from apps.lib.net import fetching
from apps.lib.net.outgoing import NotAnswered
from tests.builders import faults, misbehaving
from tests.builders.tls import Authority
from tests.rows import for_each_row


def test_a_private_authority_is_trusted_if_its_certificate_is_given(tls_registry, get):
    assert get(f"{tls_registry.url}/.well-known/terraform.json", ca=tls_registry.ca)[0] == 200
    with pytest.raises(NotAnswered, match="its certificate is not trusted: unable to get local issuer") as refused:
        get(f"{tls_registry.url}/.well-known/terraform.json")
    assert (refused.value.code, refused.value.rule) == ("not_trusted", "certificate")
    assert tls_registry.count("*") == 1


def test_a_file_of_authorities_is_read_again_after_a_change(tls_registry, get, tmp_path):
    file = tmp_path / "authorities.pem"
    file.write_bytes(Authority("Other CA").pem)
    url = f"{tls_registry.url}/.well-known/terraform.json"

    def trusted():
        return fetching.trusting(str(file), file.stat().st_mtime_ns, "")

    with pytest.raises(NotAnswered, match="certificate is not trusted"):
        get(url, trusted=trusted())
    file.write_text(tls_registry.ca)
    assert get(url, trusted=trusted())[0] == 200


@for_each_row("text", ["pears", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_certificates_that_cannot_be_read_are_an_error(text, tmp_path):
    with pytest.raises((ssl.SSLError, ValueError)):
        fetching.trusting("", 0, text)
    with pytest.raises(OSError, match="No such file"):
        fetching.trusting(str(tmp_path / "none.pem"), 0, "")


def test_a_certificate_for_another_name_is_refused_with_the_reason(tmp_path, get):
    with misbehaving.running(tls=tmp_path, name="other.acme.example") as registry:
        with pytest.raises(NotAnswered, match="Hostname mismatch, certificate is not valid for 'localhost'"):
            get(registry.url, ca=registry.ca)
        assert registry.count("*") == 0


def test_a_proxy_gets_the_whole_url_of_plain_http(registry, proxy, get):
    tool = registry.add_provider()
    url = registry.url + tool.zip_path("1.0.0")
    assert get(url, proxy=proxy.url)[1] == tool.zip("1.0.0")
    assert proxy.asked == [f"GET {url}"]


def test_a_proxy_connects_for_https_and_sees_no_request(tls_registry, proxy, get):
    tool = tls_registry.add_provider()
    proxy.password = "pe:ars"
    proxy_url = f"http://larder:pe%3Aars@127.0.0.1:{proxy.port}"
    body = get(
        tls_registry.url + tool.zip_path("1.0.0"), proxy=proxy_url, ca=tls_registry.ca, authorization="Bearer x"
    )[1]
    assert body == tool.zip("1.0.0")
    assert proxy.asked == [f"CONNECT localhost:{tls_registry.port}"]
    assert "authorization" not in proxy.headers[0]
    assert "proxy-authorization" not in tls_registry.requests[0].headers


def test_a_name_that_only_the_proxy_resolves_is_public_for_larder(tls_registry, proxy, get, names):
    """Without allowed networks: https on port 443. The certificate shows where the proxy led."""
    names()
    proxy.leads_to = tls_registry.port
    with pytest.raises(NotAnswered, match=r"not valid for 'registry\.acme\.example'"):
        get("https://registry.acme.example/", proxy=proxy.url, ca=tls_registry.ca, allowed=())
    assert proxy.asked == ["CONNECT registry.acme.example:443"]


@for_each_row(
    "url",
    [
        "https://10.0.0.1/",
        "https://169.254.169.254/",
        "https://2852039166/",
        "https://0x7f.1/",
        "https://[::1]/",
        "https://localhost/",
        "http://registry.acme.example/",
        "https://registry.acme.example:8443/",
    ],
)
def test_behind_a_proxy_literal_private_addresses_and_other_ports_are_refused(url, proxy, get):
    with pytest.raises(NotAnswered, match=r"not allowed|expected") as refused:
        get(url, proxy=proxy.url, allowed=())
    assert refused.value.rule == "private_address"
    assert proxy.asked == []


def test_behind_a_proxy_redirects_are_checked_too(registry, proxy, get):
    registry.misbehave("/start", faults.redirects("https://10.0.0.1/"))
    with pytest.raises(NotAnswered, match=r"10\.0\.0\.1 with https on port 443 is not allowed") as refused:
        get(f"{registry.url}/start", proxy=proxy.url)
    assert refused.value.rule == "private_address"
    assert len(proxy.asked) == 1


def test_a_proxy_that_refuses_or_is_down_or_unknown_is_named(tls_registry, proxy, get, names):
    proxy.refusal = 403
    with pytest.raises(NotAnswered, match="the proxy answered 403 to CONNECT localhost") as refused:
        get(tls_registry.url, proxy=proxy.url, ca=tls_registry.ca)
    assert refused.value.code == "proxy_failed"
    with pytest.raises(NotAnswered, match="no connection to the proxy") as refused:
        get(tls_registry.url, proxy="http://127.0.0.1:9")
    assert refused.value.code == "proxy_failed"
    names()
    with pytest.raises(NotAnswered, match="the name of the proxy cannot be resolved"):
        get(tls_registry.url, proxy="http://proxy.acme.example:3128")
