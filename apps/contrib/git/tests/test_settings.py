"""The settings of all Git servers, read at the start: a value that cannot be used stops it with a sentence."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.contrib.git import settings_values
from registry_site import env
from tests.builders.tls import Authority


def stops(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> str:
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as stopped:
        settings_values.read(env)
    return str(stopped.value)


def test_without_variables_of_its_own_no_private_network_is_allowed_and_nothing_else_is_trusted(monkeypatch):
    for name in ("ALLOW", "CA_FILE", "PROXY"):
        monkeypatch.delenv(f"LARDER_SOURCES_{name}", raising=False)
    monkeypatch.setenv("LARDER_UPSTREAM_ALLOW", "10.20.0.0/16")
    monkeypatch.setenv("LARDER_UPSTREAM_PROXY", "http://proxy.acme.example:3128")
    found = settings_values.read(env)

    assert (found.allow, found.ca_file, found.proxy) == ((), "", "")


def test_networks_a_file_of_certificates_and_a_proxy_are_taken(monkeypatch, tmp_path):
    certificate = tmp_path / "ca.crt"
    certificate.write_bytes(Authority("Acme").pem)
    monkeypatch.setenv("LARDER_SOURCES_ALLOW", "10.20.0.7, fd00::/8")
    monkeypatch.setenv("LARDER_SOURCES_CA_FILE", str(certificate))
    monkeypatch.setenv("LARDER_SOURCES_PROXY", "http://proxy.acme.example:3128")
    found = settings_values.read(env)

    assert [str(network) for network in found.allow] == ["10.20.0.7/32", "fd00::/8"]
    assert (found.ca_file, found.proxy) == (str(certificate), "http://proxy.acme.example:3128")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("CA_FILE", "/nowhere/ca.crt", ": /nowhere/ca.crt cannot be read: No such file"),
        ("ALLOW", "10.20.0.1/16", "has host bits set. Expected networks such as 10.20.0.0/16."),
        ("ALLOW", "git.acme.example", "'git.acme.example' does not appear to be an IPv4 or IPv6 network"),
        ("PROXY", "proxy", "expected"),
        ("PROXY", "https://proxy.acme.example:3128", "begins with 'https': expected one of http:"),
        ("PROXY", "socks5://proxy.acme.example:1080", "begins with 'socks5': expected one of http:"),
    ],
)
def test_a_value_that_cannot_be_used_stops_the_start_and_says_what_was_expected(monkeypatch, name, value, said):
    found = stops(monkeypatch, f"LARDER_SOURCES_{name}", value)
    assert found.startswith(f"LARDER_SOURCES_{name}")
    assert said in found
