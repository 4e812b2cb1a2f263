"""Key-encryption keys that rotate, move from one place to another, and are reported."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.utils import timezone
from structlog.testing import capture_logs

from apps.accounts.models import Namespace
from apps.audit.models import AuditEvent
from apps.contrib.kms.addresses import KINDS
from apps.contrib.kms.tests.servers import Aws, Use
from apps.contrib.kms.tests.vault_server import FakeVault
from apps.lib.settings_values.kek_urls import parse_all
from apps.signing import fingerprints, kms, vault
from apps.signing.models import KeyFingerprint, PrivateKey, SigningKey
from apps.signing.tasks import report_kek
from apps.signing.vault import KeyServiceAway, SealBroken, SignerUnavailable
from registry_site.operations import backup
from registry_site.startup import shared_keys
from tests.builders.held import held_key
from tests.signing.private_keys import reseal, row_of, signs

KEK = Path(django_settings.DATA_DIR) / "signing" / "kek"


# --- Another key, a newer version ---------------------------------------------------------------------------------


def test_a_rotated_key_opens_what_it_wrapped_and_the_command_brings_all_to_the_newest_version(
    key: SigningKey, use: Use, bao: FakeVault
) -> None:
    bao.rotate()
    kms.forget()
    assert signs(key)
    assert bytes(vault.seal(key, b"secret").wrapped_key or b"").startswith(b"vault:v2:")
    assert reseal().startswith("0 resealed.")

    assert reseal("--all").startswith("1 resealed.\nAll private keys use the key of Vault")
    assert bytes(row_of(key).wrapped_key or b"").startswith(b"vault:v2:")
    bao.least_version = 2
    kms.forget()
    assert signs(key)


def test_a_version_that_vault_withholds_is_waited_for(key: SigningKey, bao: FakeVault) -> None:
    bao.rotate()
    bao.least_version = 2
    with pytest.raises(KeyServiceAway, match="too old"):
        vault.unseal(row_of(key))
    bao.least_version = 1
    assert signs(key)

    # A Vault that was restored from before the rotation.
    reseal("--all")
    newest = bao.keys["transit/keys/larder"].pop()
    with pytest.raises(KeyServiceAway, match="too new"):
        vault.unseal(row_of(key))
    bao.keys["transit/keys/larder"].append(newest)
    assert signs(key)


def test_aws_rotates_by_itself(use: Use, aws: Aws, acme: Namespace) -> None:
    use(aws.url("rotated"))
    key = held_key(acme)
    number = aws.client.describe_key(KeyId="alias/rotated")["KeyMetadata"]["KeyId"]
    aws.client.enable_key_rotation(KeyId=number)
    aws.client.rotate_key_on_demand(KeyId=number)
    kms.forget()

    assert signs(key)
    assert reseal("--all").startswith("1 resealed.")
    assert signs(key)


def test_another_key_of_the_service_opens_nothing_and_a_worker_with_it_says_so_when_it_starts(
    use: Use, bao: FakeVault, token_file: Path, acme: Namespace
) -> None:
    right, wrong = bao.url(token_file), bao.url(token_file, "other")
    use(right)
    key = held_key(acme)
    with capture_logs() as logged:
        shared_keys.compare_kek()
    assert logged == []
    use(wrong)
    with capture_logs() as logged:
        shared_keys.compare_kek()
    assert [line["event"] for line in logged] == ["kek_differs"]
    assert "LARDER_SIGNING_KEK_URL" in logged[0]["problem"]
    with capture_logs() as logged, pytest.raises(SignerUnavailable, match="is sealed under") as refused:
        vault.unseal(row_of(key))
    assert "LARDER_SIGNING_KEK_URL" in refused.value.hint
    assert [line["event"] for line in logged] == ["kek_wrong"]

    # The id in the row is only a hint.
    [other] = vault.kek_ids()
    PrivateKey.objects.update(kek_id=other)
    with pytest.raises(SealBroken):
        vault.unseal(row_of(key))


def test_a_service_with_another_name_opens_its_rows_still(
    key: SigningKey, use: Use, bao: FakeVault, token_file: Path
) -> None:
    use(bao.url(token_file).replace("127.0.0.1", "localhost"))

    assert signs(key)
    assert reseal().startswith("1 resealed.")
    assert row_of(key).kek_id == vault.newest_kek_id()


# --- From one to another ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_keys_move_from_the_file_to_aws_to_vault_and_back_and_sign_all_the_way(
    use: Use, aws: Aws, bao: FakeVault, token_file: Path, acme: Namespace, pantry: Namespace
) -> None:
    use("file:")
    keys = [held_key(acme), held_key(pantry, "foreign")]
    kms_url, vault_url = aws.url("moved"), bao.url(token_file)
    places = ["file:", kms_url, vault_url, "file:", vault_url, kms_url, "file:"]
    for older, newest in pairwise(places):
        use(newest, older)
        assert all(signs(key) for key in keys), "before the command has run"
        before = set(PrivateKey.objects.values_list("kek_id", flat=True))
        said = reseal()
        assert said.startswith("2 resealed.\nAll private keys use the "), said
        assert reseal().startswith("0 resealed.")
        use(newest)
        assert all(signs(key) for key in keys), "without the older"
        assert set(PrivateKey.objects.values_list("kek_id", flat=True)).isdisjoint(before)
        assert fingerprints.sealed_elsewhere() == ""
    assert {row.wrapped_key for row in PrivateKey.objects.all()} == {None}
    events = AuditEvent.objects.filter(kind="namespace:key:resealed")
    assert events.count() == 12
    assert {event.subject for event in events} == {"acme", "pantry"}


def test_a_file_that_only_opens_is_never_made(use: Use, bao: FakeVault, token_file: Path, acme: Namespace) -> None:
    use(bao.url(token_file), "file:")
    with pytest.raises(SignerUnavailable, match="cannot be read"):
        vault.new_data_key("A" * 40)
    assert not KEK.exists()


def test_a_move_that_an_outage_interrupts_is_repeated(
    use: Use, bao: FakeVault, token_file: Path, acme: Namespace, pantry: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    use("file:")
    keys = [held_key(acme), held_key(pantry, "foreign")]
    use(bao.url(token_file), "file:")
    answer = bao.answer

    def once(*asked):
        bao.status = 503
        return answer(*asked)

    monkeypatch.setattr(bao, "answer", once)
    said = reseal()
    assert "1 resealed; run it again for the others." in said
    assert "Vault" in said
    assert AuditEvent.objects.filter(kind="namespace:key:resealed").count() == 1

    monkeypatch.undo()
    bao.status = 0
    assert reseal().startswith("1 resealed.\nAll private keys use the key of Vault")
    assert all(signs(key) for key in keys)


@pytest.mark.both
def test_a_key_that_was_renewed_meanwhile_is_not_overwritten(key: SigningKey, monkeypatch: pytest.MonkeyPatch) -> None:
    seal = vault.seal

    def slowly(*asked):
        fresh = seal(*asked)
        renewed = seal(key, b"renewed")
        changes = {"nonce": renewed.nonce, "ciphertext": renewed.ciphertext, "wrapped_key": renewed.wrapped_key}
        PrivateKey.objects.update(**changes)
        return fresh

    monkeypatch.setattr(vault, "seal", slowly)
    reseal("--all")

    assert vault.unseal(row_of(key)) == b"renewed"
    assert not AuditEvent.objects.filter(kind="namespace:key:resealed").exists()


def test_a_pasted_wrapped_key_is_not_laundered_by_a_move(
    use: Use, bao: FakeVault, token_file: Path, acme: Namespace, pantry: Namespace
) -> None:
    use(bao.url(token_file))
    mine, other = row_of(held_key(acme)), row_of(held_key(pantry, "foreign"))
    PrivateKey.objects.filter(pk=mine.pk).update(
        wrapped_key=other.wrapped_key, nonce=other.nonce, ciphertext=other.ciphertext
    )
    KEK.parent.mkdir()
    KEK.write_text("ab" * 32)
    use("file:", bao.url(token_file))
    said = reseal()

    assert "1 resealed." in said
    assert "damaged or was replaced" in said
    assert "1 could not be decrypted" in said
    assert bytes(row_of(mine.key).ciphertext) == bytes(other.ciphertext)


# --- What operators see -------------------------------------------------------------------------------------------


@pytest.mark.both
def test_workers_report_where_the_key_is_and_whether_it_answers(
    use: Use, bao: FakeVault, token_file: Path, acme: Namespace
) -> None:
    report_kek()
    assert fingerprints.kek_place() is None
    use(bao.url(token_file))
    shared_keys.compare_kek()
    report_kek()
    assert fingerprints.kek_place() == fingerprints.KekPlace("Vault", is_answering=True)

    bao.status = 503
    KeyFingerprint.objects.update(answered_at=timezone.now() - fingerprints.KEK_PLACE_AGE)
    with capture_logs() as logged:
        report_kek()
    assert fingerprints.kek_place() == fingerprints.KekPlace("Vault", is_answering=False)
    assert [line["event"] for line in logged] == ["key_service_away"]
    bao.status = 0
    report_kek()
    assert fingerprints.kek_place() == fingerprints.KekPlace("Vault", is_answering=True)

    use("file:")
    held_key(acme)
    report_kek()
    place = fingerprints.kek_place()
    assert place == fingerprints.KekPlace("file", is_answering=True)
    assert not place.is_service


@pytest.mark.django_db
def test_a_backup_of_keys_says_that_the_one_of_a_service_is_not_in_it(
    settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.SIGNING_KEKS = parse_all(["awskms://alias/larder?region=eu-central-1"], KINDS)
    monkeypatch.setattr(backup, "write", lambda *_, **__: SimpleNamespace(rows={}, blobs=[], has_blobs=True))
    call_command("backup", str(tmp_path / "folder"), "--keys", str(tmp_path / "keys"))

    assert "not the key of AWS KMS, alias/larder: the service has its own backup" in capsys.readouterr().out
    assert "awskms" not in (tmp_path / "keys").read_text()
