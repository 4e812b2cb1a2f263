"""`manage.py check --deploy`, where the key-encryption key is in a key service."""

from apps.contrib.kms.addresses import KINDS
from apps.lib.settings_values.kek_urls import parse_all
from registry_site.startup import checks
from tests.site.startup.test_checks import ids


def test_a_host_that_does_not_sign_reads_no_token_for_a_key_service(settings, tmp_path):
    token = tmp_path / "token"
    settings.SIGNING_KEK_FILE, settings.WORKER_QUEUES = tmp_path / "kek", ["check"]
    address = f"vault+https://vault.acme.example/transit/keys/larder?token_file={token}"
    settings.SIGNING_KEKS = parse_all([address], KINDS)
    assert ids(checks.only_signing_workers_open_private_keys(None)) == []
    token.write_text("hvs.x")
    [message] = checks.only_signing_workers_open_private_keys(None)
    assert message.id == "larder.E009"
    assert str(token) in str(message.msg)


def test_a_file_that_is_no_longer_in_use_is_not_warned_of(settings, tmp_path):
    settings.DATABASE_URL = f"sqlite:///{tmp_path}/db.sqlite3"
    settings.SIGNING_KEK_FILE = tmp_path / "kek"
    settings.SIGNING_KEKS = parse_all(["awskms://alias/larder", "file:"], KINDS)
    assert ids(checks.keys_are_apart_from_what_they_protect(None)) == ["larder.W010"]
    settings.SIGNING_KEKS = parse_all(["awskms://alias/larder"], KINDS)
    assert ids(checks.keys_are_apart_from_what_they_protect(None)) == []
