"""The settings LARDER_BEHIND_PROXY and LARDER_TRUSTED_PROXIES together. test_proxies.py asks a real proxy."""

from typing import Any

from apps.lib.net.forwarding import PROXIED, TrustedProxies
from registry_site.server import forwarded
from tests.rows import for_each_row


def decided(**environ: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"REMOTE_ADDR": "192.0.2.1", "wsgi.url_scheme": "http", **environ}
    forwarded.decide(found)
    return found


def test_the_older_setting_alone_believes_any_peer_about_the_scheme_and_nobody_about_the_address(settings):
    settings.BEHIND_PROXY = True

    found = decided(HTTP_X_FORWARDED_PROTO="https", HTTP_X_FORWARDED_FOR="198.51.100.4")

    assert found == {
        "REMOTE_ADDR": "192.0.2.1",
        "wsgi.url_scheme": "https",
        PROXIED: False,
        forwarded.DIRECT_PEER: "",
    }


@for_each_row(("peer", "scheme"), [("192.0.2.1", "https"), ("192.0.2.2", "http")])
def test_where_proxies_are_named_only_they_are_believed(settings, peer, scheme):
    settings.BEHIND_PROXY = True
    settings.TRUSTED_PROXIES = TrustedProxies.parse(["192.0.2.1"])

    found = decided(REMOTE_ADDR=peer, HTTP_X_FORWARDED_PROTO="https")

    assert found["wsgi.url_scheme"] == scheme
    assert found[PROXIED] == (scheme == "https")


def test_a_server_on_a_socket_file_names_no_peer(settings):
    settings.TRUSTED_PROXIES = TrustedProxies.parse(["unix"])
    environ = {"wsgi.url_scheme": "http", "HTTP_X_FORWARDED_FOR": "198.51.100.4"}

    forwarded.decide(environ)

    assert environ["REMOTE_ADDR"] == "198.51.100.4"
