"""Dangerous configuration has a name and a hint."""

import pytest

from apps.lib.net.forwarding import TrustedProxies
from registry_site.startup import checks
from tests.rows import for_each_row
from tests.site.commands import manage


def ids(found):
    return [message.id for message in found]


def test_one_host_may_keep_everything_on_its_disk_and_sign_itself_and_several_may_not(settings):
    assert ids(checks.one_place_for_all_hosts(None)) == []
    assert ids(checks.only_signing_workers_open_private_keys(None)) == []
    settings.INSTANCES = 3
    settings.CACHE_URL = "redis://cache"
    settings.STORAGE_URL = "s3://bucket"

    found = checks.one_place_for_all_hosts(None)

    assert "larder.E003" in ids(found)
    assert "larder.E002" not in ids(found)
    assert all(message.hint for message in found)
    assert ids(checks.only_signing_workers_open_private_keys(None)) == ["larder.W011"]


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("DEBUG", True, "larder.E005"),
        ("PUBLIC_URL", "http://registry.example", "larder.W001"),
        ("CRASH_AT", ["before:check"], "larder.E006"),
        ("BEHIND_PROXY", True, "larder.W002"),
        ("TRUSTED_PROXIES", TrustedProxies.parse(["10.0.0.1", "::/0"]), "larder.W003"),
        ("SECRET_KEY", "pears", "larder.E011"),
        ("SECRET_KEY", "django-insecure-" + "x" * 50, "larder.E011"),
        ("METRICS_LISTEN", ("0.0.0.0", 9464), "larder.W013"),
    ],
)
def test_what_must_not_be_on_in_production_is_named(settings, name, value, found):
    settings.DEBUG = False
    assert ids(checks.nothing_is_left_open(None)) == []
    setattr(settings, name, value)

    assert ids(checks.nothing_is_left_open(None)) == [found]


def test_a_host_that_does_not_sign_reads_no_key_encryption_key(settings, tmp_path):
    kek = tmp_path / "kek"
    settings.SIGNING_KEK_FILE = kek
    settings.WORKER_QUEUES = ["check"]
    assert ids(checks.only_signing_workers_open_private_keys(None)) == []
    kek.write_text("5a" * 32)
    assert ids(checks.only_signing_workers_open_private_keys(None)) == ["larder.E009"]
    settings.WORKER_QUEUES = ["sign"]
    assert ids(checks.only_signing_workers_open_private_keys(None)) == []


@for_each_row(
    ("options", "found"),
    [
        ("", []),
        ("?endpoint=https://s3.acme.example", []),
        ("?endpoint=https://registry.acme.example:9000", ["larder.W020"]),
        ("?endpoint=https://s3.registry.acme.example", ["larder.W020"]),
        ("?endpoint=https://s3.registry.acme.example&public_endpoint=https://s3.acme.example", []),
        ("?endpoint=http://minio:9000&public_endpoint=https://s3.registry.acme.example", ["larder.W020"]),
        ("?account=acme", []),
        ("?account=acme&endpoint=https://blobs.registry.acme.example", ["larder.W020"]),
    ],
)
def test_clients_are_not_sent_where_they_would_send_their_token(settings, options, found):
    settings.PUBLIC_URL = "https://registry.acme.example"
    settings.STORAGE_URL = f"{'azure' if 'account' in options else 's3'}://larder{options}"
    settings.STORAGE_REDIRECT_SECONDS = 0
    assert ids(checks.links_to_storage_lead_elsewhere(None)) == []
    settings.STORAGE_REDIRECT_SECONDS = 60

    assert ids(checks.links_to_storage_lead_elsewhere(None)) == found


@for_each_row(
    ("database", "place", "found"),
    [
        ("sqlite:///{}/data/db.sqlite3", "data/signing/kek", ["larder.W010"]),
        ("sqlite:///{}/data/db.sqlite3", "data/kek", ["larder.W010"]),
        ("sqlite:///{}/data/db.sqlite3", "secrets/kek", []),
        ("postgres://larder@db.example/larder", "data/signing/kek", []),
    ],
)
def test_the_key_that_opens_signing_keys_is_not_backed_up_with_them(settings, tmp_path, database, place, found):
    settings.DATABASE_URL = database.format(tmp_path)
    settings.SIGNING_KEK_FILE = tmp_path / place

    messages = checks.keys_are_apart_from_what_they_protect(None)

    assert ids(messages) == found
    assert all("LARDER_SIGNING_KEK_FILE" in str(message.hint) for message in messages)


@pytest.mark.slow
def test_the_default_place_of_that_key_is_warned_of(tmp_path):
    assert "larder.W010" in manage(tmp_path, "check", "--deploy", LARDER_LOG_LEVEL="ERROR").stderr


def test_plain_http_for_everybody_is_named_unless_a_proxy_is(settings):
    settings.DEBUG = False
    settings.LISTEN_HOST, settings.TLS = "0.0.0.0", "off"
    assert ids(checks.nothing_is_left_open(None)) == ["larder.W012"]

    settings.TRUSTED_PROXIES = TrustedProxies.parse(["10.0.0.1"])
    assert ids(checks.nothing_is_left_open(None)) == []
    settings.BEHIND_PROXY = True  # the older word for it
    assert ids(checks.nothing_is_left_open(None)) == []


def test_sqlite_on_a_network_file_system_is_an_error(settings, monkeypatch, tmp_path):
    settings.DATABASE_URL = f"sqlite:///{tmp_path}/db.sqlite3"
    assert ids(checks.sqlite_is_on_a_disk_of_this_host(None)) == []
    kind = checks.file_system_of(tmp_path)
    assert kind

    monkeypatch.setattr(checks, "NETWORK_FILE_SYSTEMS", (kind,))
    assert ids(checks.sqlite_is_on_a_disk_of_this_host(None)) == ["larder.E010"]
    settings.DATABASE_URL = "postgres://larder@127.0.0.1/larder"
    assert ids(checks.sqlite_is_on_a_disk_of_this_host(None)) == []
