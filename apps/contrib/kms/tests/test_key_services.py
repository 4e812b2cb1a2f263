"""The key-encryption key in AWS KMS or Vault: what it wraps opens in its row alone, and stays in memory for minutes."""

import time
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from structlog.testing import capture_logs

from apps.accounts.access.gate import NOBODY
from apps.accounts.models import Namespace
from apps.contrib.kms.tests.servers import Use
from apps.contrib.kms.tests.vault_server import FakeVault
from apps.signing import fingerprints, key_generation, keys, kms, signer, vault
from apps.signing.models import PrivateKey, SigningKey
from apps.signing.tasks import report_kek
from apps.signing.vault import KeyServiceAway, SealBroken, SignerUnavailable
from tests.builders.held import held_key
from tests.builders.keys import signing_key
from tests.signing.private_keys import row_of, signs

KEK = Path(django_settings.DATA_DIR) / "signing" / "kek"


# --- Sealing and opening ------------------------------------------------------------------------------------------


def test_a_key_signs_with_its_private_half_under_a_service(use: Use, service: str, acme: Namespace) -> None:
    use(service)
    key = held_key(acme)
    private = row_of(key)

    assert signs(key)
    assert bytes(private.wrapped_key or b"")
    assert not KEK.exists(), "the file is not made beside a service"
    assert b"PRIVATE" not in bytes(private.ciphertext) + bytes(private.wrapped_key or b"")
    assert len({bytes(vault.seal(key, b"secret").wrapped_key or b"") for _ in range(5)}) == 5, "each has its own"


def test_a_wrapped_key_of_another_row_opens_nothing(use: Use, service: str, acme: Namespace, pantry: Namespace) -> None:
    use(service)
    mine, other = row_of(held_key(acme)), row_of(held_key(pantry, "foreign"))

    PrivateKey.objects.filter(pk=mine.pk).update(wrapped_key=other.wrapped_key)
    with capture_logs() as logged, pytest.raises(SealBroken):
        vault.unseal(row_of(mine.key))
    assert [line["event"] for line in logged] == ["private_key_tampered"]

    PrivateKey.objects.filter(pk=mine.pk).update(ciphertext=other.ciphertext, nonce=other.nonce)
    with pytest.raises(SealBroken):
        vault.unseal(row_of(mine.key))


def test_the_service_and_memory_refuse_a_wrapped_key_for_another_fingerprint_or_purpose(
    use: Use, service: str, monkeypatch: pytest.MonkeyPatch, db: None
) -> None:
    use(service)
    wrapped = vault.new_data_key("A" * 40).wrapped or b""
    [asked] = vault.services()

    assert len(asked.unwrap(wrapped, vault._context("A" * 40))) == 32
    kms.unwrap(asked, wrapped, vault._context("A" * 40))  # it is in memory from here on
    for unwrap in (asked.unwrap, lambda *given: kms.unwrap(asked, *given)):
        with pytest.raises(kms.NotUnwrapped):
            unwrap(wrapped, vault._context("B" * 40))
    monkeypatch.setattr(vault, "PURPOSE", "sign commits")
    with pytest.raises(kms.NotUnwrapped):
        asked.unwrap(wrapped, vault._context("A" * 40))


def test_a_row_is_for_signing_releases_alone(
    use: Use, service: str, acme: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(service)
    key = held_key(acme)
    context = vault._context(key.fingerprint)
    monkeypatch.setattr(vault, "PURPOSE", "sign commits")
    monkeypatch.setattr(vault, "_context", lambda _fingerprint: context)

    with pytest.raises(SealBroken):
        vault.unseal(row_of(key))


def test_a_wrapped_key_that_was_changed_or_taken_away_rings_an_alarm(use: Use, service: str, acme: Namespace) -> None:
    use(service)
    key = held_key(acme)
    whole = bytes(row_of(key).wrapped_key or b"")
    changed = whole[:-6] + bytes([whole[-6] ^ 1 if whole[-6] != ord("A") else ord("B")]) + whole[-5:]

    for wrapped in (changed, b"vault:v1:", b"nothing like it", b"", None):
        PrivateKey.objects.update(wrapped_key=wrapped)
        with capture_logs() as logged, pytest.raises(SealBroken):
            vault.unseal(row_of(key))
        assert [line["event"] for line in logged] == ["private_key_tampered"], wrapped


@pytest.mark.both
def test_a_key_is_imported_and_renewed_under_a_service_and_nothing_is_asked_in_the_transaction(
    use: Use, bao: FakeVault, token_file: Path, acme: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(bao.url(token_file))
    material = signing_key("rsa3072").secret_armor.encode()
    key = key_generation.import_key(namespace=acme, material=material, passphrase="", actor=NOBODY)
    assert signs(key)

    bao.status = 503
    monkeypatch.setattr(keys, "add_private", lambda **_: pytest.fail("the transaction has begun"))
    with pytest.raises(KeyServiceAway):
        key_generation.import_key(namespace=acme, material=material, passphrase="", actor=NOBODY)


def test_processes_that_do_not_sign_ask_no_service_and_workers_none_about_nothing(
    key: SigningKey, bao: FakeVault
) -> None:
    PrivateKey.objects.update(wrapped_key=None)
    bao.asked.clear()
    with pytest.raises(SealBroken):
        vault.unseal(row_of(key))
    vault.lock()

    for call in (
        lambda: vault.unseal(row_of(key)),
        lambda: vault.seal(key, b"secret"),
        lambda: vault.try_service(vault.services()[0]),
    ):
        with pytest.raises(SignerUnavailable, match="only workers sign"):
            call()
    report_kek()
    assert fingerprints.kek_place() is None
    assert bao.asked == []


# --- Memory -------------------------------------------------------------------------------------------------------


def test_a_data_key_is_kept_for_minutes_and_no_longer(
    key: SigningKey, bao: FakeVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    bao.asked.clear()
    assert signs(key)
    assert signs(key)
    assert [path for path, _ in bao.asked] == ["/v1/transit/decrypt/larder"]

    bao.status = 503
    assert signs(key), "an outage that is shorter than the memory is not noticed"
    began = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: began + kms.CACHE_SECONDS + 1)
    with pytest.raises(KeyServiceAway):
        signer.sign(key=key, data=b"data")
    bao.status = 0
    assert signs(key)
    assert len(kms._unwrapped) == 1, "the one that ended is gone"


def test_memory_has_an_end_and_a_lock_empties_it(
    use: Use, bao: FakeVault, token_file: Path, monkeypatch: pytest.MonkeyPatch, db: None
) -> None:
    use(bao.url(token_file))
    monkeypatch.setattr(kms, "CACHE_SIZE", 3)
    [asked] = vault.services()
    for number in range(5):
        wrapped = vault.new_data_key(f"{number}" * 40).wrapped or b""
        kms.unwrap(asked, wrapped, vault._context(f"{number}" * 40))
    assert len(kms._unwrapped) == 3

    vault.lock()
    assert kms._unwrapped == {}
