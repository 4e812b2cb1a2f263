"""The settings of all mirrored registries, read at the start: a value that cannot be used stops it with a sentence."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.contrib.mirror import settings_values
from registry_site import env
from tests.builders.tls import Authority
from tests.rows import for_each_row


def stops(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> str:
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as stopped:
        settings_values.read(env)
    return str(stopped.value)


def test_without_variables_nothing_private_is_asked_and_nothing_else_is_trusted(monkeypatch):
    for name in ("ALLOW", "CA_FILE", "PROXY", "ADVISORIES", "CONNECTIONS"):
        monkeypatch.delenv(f"LARDER_UPSTREAM_{name}", raising=False)
    found = settings_values.read(env)

    assert not found.allow
    assert (found.ca_file, found.proxy, found.advisories) == ("", "", "")
    assert found.connections == 8


def test_a_file_of_certificates_and_a_folder_are_taken(monkeypatch, tmp_path):
    certificate = tmp_path / "ca.crt"
    certificate.write_bytes(Authority("Acme").pem)
    monkeypatch.setenv("LARDER_UPSTREAM_CA_FILE", str(certificate))
    monkeypatch.setenv("LARDER_UPSTREAM_ADVISORIES", str(tmp_path))
    monkeypatch.setenv("LARDER_UPSTREAM_ALLOW", "10.20.0.0/16, fd00::/8")

    found = settings_values.read(env)
    assert (found.ca_file, found.advisories) == (str(certificate), str(tmp_path))
    assert [str(network) for network in found.allow] == ["10.20.0.0/16", "fd00::/8"]


def test_files_that_are_missing_or_of_another_kind_stop_the_start(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("{}")
    for name, path, said in (
        ("CA_FILE", tmp_path / "ca.crt", " cannot be read: No such file"),
        ("CA_FILE", tmp_path, ""),
        ("ADVISORIES", tmp_path / "osv", " cannot be read: No such file"),
        ("ADVISORIES", tmp_path / "osv", "folder of OSV files"),
        ("ADVISORIES", tmp_path / "file", "Not a directory"),
    ):
        found = stops(monkeypatch, f"LARDER_UPSTREAM_{name}", str(path))
        assert found.startswith(f"LARDER_UPSTREAM_{name}: {path}")
        assert said in found


@for_each_row("text", ["", "not a certificate\n", "-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_a_file_without_a_certificate_stops_the_start(monkeypatch, tmp_path, text):
    (tmp_path / "ca.crt").write_text(text)
    said = stops(monkeypatch, "LARDER_UPSTREAM_CA_FILE", str(tmp_path / "ca.crt"))
    assert "has no certificate that can be read. Expected PEM certificates" in said


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALLOW", "10.20.0.1/16"),
        ("CONNECTIONS", "0"),
        ("PROXY", "proxy"),
        ("PROXY", "https://proxy.acme.example:3128"),
    ],
)
def test_other_values_that_cannot_be_used_stop_the_start_by_name(monkeypatch, name, value):
    assert stops(monkeypatch, f"LARDER_UPSTREAM_{name}", value).startswith(f"LARDER_UPSTREAM_{name}")


@for_each_row(
    "value",
    [
        "ftp://larder:hunter2@proxy.acme.example",
        "http:larder:hunter2@proxy.acme.example",
        "http://larder:hunter/2:x@proxy.acme.example:3128x",
        "http://larder:hunter2@[proxy.acme.example",
        "larder:hunter2@proxy.acme.example",
    ],
)
def test_no_message_about_the_proxy_shows_its_password(monkeypatch, value):
    said = stops(monkeypatch, "LARDER_UPSTREAM_PROXY", value)
    assert "hunter" not in said
