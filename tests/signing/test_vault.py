"""Private keys at rest: what was exchanged, damaged or sealed under another key opens nowhere, and rings an alarm."""

import stat
from pathlib import Path

import pytest
import structlog
from django.conf import settings

from apps.accounts.models import Namespace
from apps.signing import vault
from apps.signing.models import PrivateKey, SigningKey
from apps.signing.signer import sign
from apps.signing.vault import SealBroken, SignerUnavailable
from tests.builders.held import held_key, key_row
from tests.builders.keys import signing_key
from tests.house import sources

KEK = Path(settings.DATA_DIR) / "signing" / "kek"


@pytest.fixture
def key(acme: Namespace, worker_host: None) -> SigningKey:
    return held_key(acme)


def alarms(call, error: type[Exception]) -> tuple[str, list[str]]:
    """The refusal's text, and the events logged as errors or worse."""
    with structlog.testing.capture_logs() as logged, pytest.raises(error) as refused:
        call()
    assert getattr(refused.value, "hint", "")
    return str(refused.value), [entry["event"] for entry in logged if entry["log_level"] in ("error", "critical")]


def test_what_was_sealed_opens_again_and_each_seal_has_a_nonce_of_its_own(key: SigningKey) -> None:
    private = key.private_key
    assert vault.unseal(private).decode() == signing_key().secret_armor
    assert b"PRIVATE" not in bytes(private.ciphertext)
    seals = [vault.seal(key, b"secret") for _ in range(50)]
    assert len({seal.nonce for seal in seals}) == 50
    assert {len(seal.nonce) for seal in seals} == {12}


def test_the_file_is_made_once_for_its_owner_alone(key: SigningKey, pantry: Namespace) -> None:
    before = KEK.read_text()
    assert stat.S_IMODE(KEK.stat().st_mode) == 0o600
    assert stat.S_IMODE(KEK.parent.stat().st_mode) == 0o700
    held_key(pantry)
    assert KEK.read_text() == before
    assert list(KEK.parent.iterdir()) == [KEK]


def test_no_other_process_opens_or_makes_anything(acme: Namespace, worker_host: None) -> None:
    private = held_key(acme).private_key
    vault.lock()
    KEK.unlink()
    said, _ = alarms(lambda: vault.unseal(private), SignerUnavailable)
    assert "only workers sign" in said
    alarms(lambda: vault.seal(private.key, b"secret"), SignerUnavailable)
    assert not KEK.exists()


def test_only_the_worker_and_its_commands_unlock() -> None:
    paths = sources.python_files("apps", "registry_site")
    calling = {sources.name_of(path) for path in paths if "vault.unlock()" in path.read_text()}
    commands = {f"apps/signing/management/commands/{name}.py" for name in ("import_signing_key", "reseal_signing_keys")}
    # `manage.py doctor` on a worker's host tries whether the file opens a key.
    assert calling == {"registry_site/celery.py", "registry_site/operations/doctor.py", *commands}


def test_a_pasted_ciphertext_opens_in_no_other_row(key: SigningKey, pantry: Namespace) -> None:
    other, twin = held_key(pantry, "foreign"), key_row(pantry)  # the twin has the same fingerprint
    stolen = key.private_key
    PrivateKey.objects.filter(key=other).update(nonce=stolen.nonce, ciphertext=stolen.ciphertext, kek_id=stolen.kek_id)
    said, logged = alarms(lambda: sign(key=other, data=b"data"), SealBroken)
    assert "replaced" in said
    assert logged == ["private_key_tampered"]

    pasted = PrivateKey(key=twin, nonce=stolen.nonce, ciphertext=stolen.ciphertext, kek_id=stolen.kek_id)
    _, logged = alarms(lambda: vault.unseal(pasted), SealBroken)
    assert logged == ["private_key_tampered"]


def test_every_flipped_byte_is_noticed(key: SigningKey) -> None:
    whole = bytes(key.private_key.ciphertext)
    for at in range(len(whole)):
        flipped = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        private = PrivateKey(key=key, nonce=key.private_key.nonce, ciphertext=flipped, kek_id=key.private_key.kek_id)
        with pytest.raises(SealBroken):
            vault.unseal(private)
    for ciphertext, nonce in ((b"", b"0" * 12), (whole[:-1], b"0" * 12), (whole, b""), (whole, b"0" * 11)):
        with pytest.raises(SealBroken):
            vault.unseal(PrivateKey(key=key, nonce=nonce, ciphertext=ciphertext, kek_id=key.private_key.kek_id))


def test_another_key_encryption_key_is_named(key: SigningKey) -> None:
    before = key.private_key.kek_id
    KEK.write_text("ab" * 32)
    said, logged = alarms(lambda: sign(key=key, data=b"data"), SignerUnavailable)
    assert before in said
    assert logged == ["kek_wrong"]
    # Whoever forges that name gets no further.
    found = said.split()[-1].rstrip(".")
    PrivateKey.objects.filter(key=key).update(kek_id=found)
    _, logged = alarms(lambda: sign(key=key, data=b"data"), SealBroken)
    assert logged == ["private_key_tampered"]


def test_a_file_that_is_away_or_spoilt_is_waited_for(key: SigningKey) -> None:
    whole = KEK.read_text()
    for text in ("", "no hex", "ab" * 31, "ab" * 33):
        KEK.write_text(text)
        said, logged = alarms(lambda: sign(key=key, data=b"data"), SignerUnavailable)
        assert "64 hex digits" in said
        assert logged == ["kek_malformed"]
    KEK.unlink()
    _, logged = alarms(lambda: sign(key=key, data=b"data"), SignerUnavailable)
    assert logged == ["kek_unreadable"]
    assert not KEK.exists()  # a new one would open nothing
    KEK.write_text(whole)
    assert sign(key=key, data=b"data")


def test_a_file_that_was_named_is_never_made(key: SigningKey, settings, tmp_path: Path) -> None:
    settings.SIGNING_KEK_FILE = tmp_path / "kek"
    alarms(lambda: vault.seal(key, b"secret"), SignerUnavailable)
    assert not (tmp_path / "kek").exists()
    (tmp_path / "kek").write_text(f"{'cd' * 32}\n")
    assert vault.unseal(vault.seal(key, b"secret")) == b"secret"
