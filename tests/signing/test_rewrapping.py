"""Replacing the key-encryption key: the first line of its file seals, every line opens, a command seals all again."""

from pathlib import Path

import pytest
from django.conf import settings

from apps.accounts.models import Namespace
from apps.audit.models import AuditEvent
from apps.signing import vault
from apps.signing.models import PrivateKey, SigningKey
from apps.signing.signer import SealBroken, SignerUnavailable, sign
from tests.builders.held import held_key
from tests.signing.private_keys import reseal

KEK = Path(settings.DATA_DIR) / "signing" / "kek"
NEW, NEWER = "ab" * 32, "cd" * 32


@pytest.fixture
def held(acme: Namespace, pantry: Namespace, worker_host: None) -> list[SigningKey]:
    return [held_key(acme), held_key(pantry)]


def sealed_under() -> set[str]:
    return set(PrivateKey.objects.values_list("kek_id", flat=True))


def all_sign(keys: list[SigningKey]) -> bool:
    return all(sign(key=key, data=b"data") for key in keys)


def test_the_first_line_seals_and_every_line_opens(held: list[SigningKey], acme: Namespace) -> None:
    old, before = KEK.read_text(), sealed_under()
    KEK.write_text(f"{NEW}\n{old}")
    assert all_sign(held)
    fresh = vault.seal(held[0], b"secret")
    assert {fresh.kek_id} != before
    KEK.write_text(f"{old}\n{NEW}\n")
    assert vault.unseal(fresh) == b"secret"
    assert {vault.seal(held[0], b"secret").kek_id} == before


@pytest.mark.both
def test_the_command_seals_every_row_anew_and_only_then_the_old_key_may_go(held: list[SigningKey]) -> None:
    old, before = KEK.read_text(), sealed_under()
    KEK.write_text(f"{NEW}\n")
    with pytest.raises(SignerUnavailable):
        sign(key=held[0], data=b"data")
    said = reseal()
    assert "0 resealed." in said
    assert "2 could not be decrypted" in said

    KEK.write_text(f"{NEW}\n{old}")
    assert reseal().startswith("2 resealed.\nAll private keys use the first line")
    after = sealed_under()
    assert len(after) == 1
    assert after.isdisjoint(before)
    KEK.write_text(f"{NEW}\n")
    assert all_sign(held)
    events = AuditEvent.objects.filter(kind="namespace:key:resealed").order_by("pk")
    assert [(event.subject, {event.detail["before"]}, {event.detail["after"]}) for event in events] == [
        ("acme", before, after),
        ("pantry", before, after),
    ]
    assert reseal().startswith("0 resealed.")
    assert events.count() == 2


def test_a_ciphertext_that_was_pasted_is_not_laundered(held: list[SigningKey]) -> None:
    """Sealing it again would bind another key's private half to this row: it must not even be opened."""
    mine, other = (key.private_key for key in held)
    PrivateKey.objects.filter(pk=mine.pk).update(nonce=other.nonce, ciphertext=other.ciphertext)
    KEK.write_text(f"{NEW}\n{KEK.read_text()}")
    said = reseal()
    assert "1 resealed." in said
    assert f"acme, {held[0]}: The private key of {held[0]} is damaged or was replaced" in said
    assert "1 could not be decrypted and are unchanged" in said
    row = PrivateKey.objects.get(pk=mine.pk)
    assert (row.kek_id, bytes(row.ciphertext)) == (mine.kek_id, bytes(other.ciphertext))
    with pytest.raises(SealBroken):
        sign(key=SigningKey.objects.get(pk=held[0].pk), data=b"data")
    assert all_sign(held[1:])
    # Neither does one open that is pasted after the exchange.
    fresh = PrivateKey.objects.get(pk=other.pk)
    rows = PrivateKey.objects.filter(pk=mine.pk)
    rows.update(nonce=fresh.nonce, ciphertext=fresh.ciphertext, kek_id=fresh.kek_id)
    with pytest.raises(SealBroken):
        sign(key=SigningKey.objects.get(pk=held[0].pk), data=b"data")


def test_a_spoilt_line_and_a_missing_file_are_named(held: list[SigningKey]) -> None:
    for line in ("no hex", NEWER[:-2], f"{NEWER}00"):
        KEK.write_text(f"{NEW}\n{line}\n")
        assert "64 hex digits on each line" in reseal()
        with pytest.raises(SignerUnavailable):
            sign(key=held[0], data=b"data")
    KEK.unlink()
    assert "LARDER_SIGNING_KEK_FILE" in reseal()
