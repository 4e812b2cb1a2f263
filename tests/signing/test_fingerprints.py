"""A host finds out that its keys are not those of the other hosts, and an exchange of keys is no false alarm."""

from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.test import Client
from structlog.testing import capture_logs

from apps.oci import registry_tokens
from apps.signing import vault
from apps.signing.models import KeyFingerprint
from registry_site.startup import checks, shared_keys
from tests.builders.held import held_key
from tests.signing.private_keys import reseal

pytestmark = pytest.mark.django_db

OLD, NEW, OTHER = "old pears " * 5, "new pears " * 5, "other pears " * 5
NEW_KEK = "ab" * 32 + "\n"
KEK = Path(django_settings.DATA_DIR) / "signing" / "kek"


@pytest.fixture
def host(settings):
    """Become a host with these lines in its file of the secret key."""

    def become(*lines: str) -> str:
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = lines[0], list(lines[1:])
        return shared_keys.compare_secret_key()

    return become


def deploy_checks() -> set[str | None]:
    return {message.id for message in checks.hosts_share_their_keys(None)}


@pytest.mark.both
def test_a_second_host_with_a_key_of_its_own_is_told_how_to_fix_it(host):
    assert host(OLD) == ""
    row = KeyFingerprint.objects.get()
    assert len(row.fingerprint) == 32
    assert "pears" not in row.fingerprint

    problem = host(OTHER)
    assert "LARDER_SECRET_KEY_FILE" in problem
    assert "manage.py accept_secret_key" in problem
    assert deploy_checks() == {"larder.E007"}
    assert host(OLD) == ""
    assert deploy_checks() == set()

    # Where the old key was lost, a command takes the new one for it.
    assert host(NEW) != ""
    call_command("accept_secret_key", stdout=StringIO())
    assert host(NEW) == ""
    assert host(OLD) != ""


def test_hosts_that_exchange_the_key_one_after_the_other_see_no_alarm(host):
    """The steps of docs/operations/keys.md, with one host always behind, and both restarted at every step."""
    for ahead, behind in (
        ((OLD,), (OLD,)),
        ((OLD, NEW), (OLD,)),
        ((OLD, NEW), (OLD, NEW)),
        ((NEW, OLD), (OLD, NEW)),
        ((NEW, OLD), (NEW, OLD)),
        ((NEW,), (NEW, OLD)),
        ((NEW,), (NEW,)),
    ):
        assert host(*ahead) == ""
        assert host(*behind) == ""
    assert host(OLD) != ""


def test_sessions_and_tokens_of_the_old_key_count_until_it_is_removed(settings, bob, tofu):
    settings.SECRET_KEY = OLD
    browser = Client()
    browser.force_login(bob)
    token = registry_tokens.issue(None)

    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OLD]
    assert browser.get("/tokens").status_code == 200
    assert registry_tokens.read(token).token is None
    assert Client().get("/v2/", headers={"Authorization": f"Bearer {token}"}).status_code == 200

    settings.SECRET_KEY_FALLBACKS = []
    assert Client().get("/v2/", headers={"Authorization": f"Bearer {token}"}).status_code == 401


def alarms() -> list[str]:
    with capture_logs() as logged:
        shared_keys.compare_kek()
    return [line["event"] for line in logged]


def test_a_worker_with_another_key_encryption_key_logs_it_until_the_keys_are_sealed_anew(acme, worker_host):
    held_key(acme)  # the first worker makes the file, and its id is recorded
    old = KEK.read_text()
    assert alarms() == []
    KEK.write_text(NEW_KEK)
    assert alarms() == ["kek_differs"]

    KEK.write_text(NEW_KEK + old)
    assert alarms() == []
    reseal()
    KEK.write_text(NEW_KEK)
    assert alarms() == []
    assert deploy_checks() == set()

    KEK.write_text("cd" * 32 + "\n")
    assert "could not be decrypted" in reseal()
    assert alarms() == ["kek_differs"], "what could not be opened is no reason to believe the new file"


def test_any_host_sees_that_a_second_worker_sealed_under_a_key_of_its_own(acme, pantry, worker_host):
    held_key(acme)
    assert deploy_checks() == set()

    KEK.write_text(NEW_KEK)
    held_key(pantry)
    vault.lock()  # as a web process, which reads no key-encryption key
    shared_keys.compare_secret_key()
    with pytest.raises(vault.SignerUnavailable):
        vault.kek_ids()
    assert deploy_checks() == {"larder.E008"}
