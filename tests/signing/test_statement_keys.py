"""The registry's own keys: made once, sealed as the others, rotated; and no envelope verifies by another key."""

import base64
import json
import subprocess
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Namespace, User
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.lib.errors import Conflict
from apps.lib.formats import dsse
from apps.signing import fingerprints, statement_keys, vault
from apps.signing.models import PrivateStatementKey, StatementKey
from apps.signing.tasks import make_statement_key
from apps.signing.vault import SealBroken, SignerUnavailable
from tests.builders.held import held_key
from tests.signing.private_keys import reseal
from tests.threads import at_once

pytestmark = pytest.mark.django_db

KEK = Path(settings.DATA_DIR) / "signing" / "kek"
PAYLOAD = b'{"_type":"https://in-toto.io/Statement/v1"}'


def signed(payload: bytes = PAYLOAD) -> tuple[StatementKey, bytes]:
    return statement_keys.sign(dsse.IN_TOTO, payload)


def changed(envelope: bytes, **changes: object) -> bytes:
    return json.dumps({**json.loads(envelope), **changes}).encode()


def test_the_first_statement_makes_the_key_and_the_next_uses_it(worker_host: None) -> None:
    key, envelope = signed()
    assert signed() == (key, envelope)  # the same bytes: a worker that was killed may sign again
    assert StatementKey.objects.get() == key
    assert statement_keys.verify(key, envelope) == (dsse.IN_TOTO, PAYLOAD)
    assert AuditEvent.objects.get(kind="operation:statement-key:made").detail["key_id"] == key.key_id


@pytest.mark.needs("openssl")
def test_openssl_agrees_with_the_signature_and_the_key_id(worker_host: None, tmp_path: Path) -> None:
    key, envelope = signed()
    document = json.loads(envelope)
    kind, payload = document["payloadType"], base64.b64decode(document["payload"])
    # By the text of the specification, not by our function.
    pae = b" ".join([b"DSSEv1", str(len(kind)).encode(), kind.encode(), str(len(payload)).encode(), payload])
    (tmp_path / "key.pem").write_text(key.public_key)
    (tmp_path / "pae.bin").write_bytes(pae)
    (tmp_path / "sig.bin").write_bytes(base64.b64decode(document["signatures"][0]["sig"]))

    def run(*words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["openssl", *words], cwd=tmp_path, capture_output=True, check=False)

    verify = ("pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in", "pae.bin", "-sigfile", "sig.bin")
    assert b"Verified Successfully" in run(*verify).stdout
    der = run("pkey", "-pubin", "-in", "key.pem", "-outform", "DER").stdout
    (tmp_path / "key.der").write_bytes(der)
    assert key.key_id in run("dgst", "-sha256", "key.der").stdout.decode()
    assert document["signatures"][0]["keyid"] == key.key_id
    (tmp_path / "pae.bin").write_bytes(pae.replace(b"v1", b"v2"))
    assert run(*verify).returncode != 0


def test_a_changed_payload_type_or_signature_does_not_verify(worker_host: None) -> None:
    key, envelope = signed()
    document = json.loads(envelope)
    other = base64.b64encode(b'{"_type":"https://in-toto.io/Statement/v2"}').decode()
    signature = {"keyid": key.key_id, "sig": base64.b64encode(b"\0" * 64).decode()}
    for changes in (
        {"payload": other},
        {"payloadType": "text/plain"},
        {"signatures": [signature]},
    ):
        with pytest.raises(statement_keys.BadStatement, match="is not one of these bytes"):
            statement_keys.verify(key, changed(envelope, **changes))
    for data, found in (
        (b"", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "not an object"),
        (changed(envelope, signatures=[]), "no signatures"),
        (changed(envelope, payload="%%"), "not base64"),
        (changed(envelope, payload=None), "no payload"),
        (changed(envelope, payloadType=7), "no payloadType"),
        (changed(envelope, signatures=[document["payload"]]), "not an object"),
        (changed(envelope, signatures=[{"keyid": 1, "sig": "AA=="}]), "keyid"),
    ):
        with pytest.raises(statement_keys.BadStatement, match=found):
            statement_keys.verify(key, data)


def test_an_envelope_of_another_key_does_not_verify_under_its_name(worker_host: None) -> None:
    first, envelope = signed()
    statement_keys.rotate(actor=NOBODY)
    second, _ = signed()
    assert first != second
    with pytest.raises(statement_keys.BadStatement, match=second.key_id):
        statement_keys.verify(second, envelope)
    [signature] = json.loads(envelope)["signatures"]
    forged = changed(envelope, signatures=[{**signature, "keyid": second.key_id}])
    with pytest.raises(statement_keys.BadStatement, match="is not one of these bytes"):
        statement_keys.verify(second, forged)


def test_what_a_retired_key_signed_still_verifies_and_the_key_stays_listed(worker_host: None, olga: User) -> None:
    first, envelope = signed()
    retired = statement_keys.rotate(actor=Viewer(olga))
    job = Job.objects.get(kind=statement_keys.JOB)
    make_statement_key(job_id=job.pk)  # the next key is there before the next statement
    second = StatementKey.objects.get(retired_at=None)
    assert (retired, signed()[0]) == (first, second)
    assert list(statement_keys.listed()) == [second, first]
    assert statement_keys.verify(first, envelope).payload == PAYLOAD
    assert AuditEvent.objects.get(kind="operation:statement-key:rotated").actor_id == olga.pk


@pytest.mark.both
def test_rotating_twice_at_once_retires_one_key_once(worker_host: None) -> None:
    with pytest.raises(Conflict, match="no active"):
        statement_keys.rotate(actor=NOBODY)
    key, _ = signed()
    statement_keys.rotate(actor=NOBODY, key=key)
    signed()
    with pytest.raises(Conflict, match="retired already"):
        statement_keys.rotate(actor=NOBODY, key=StatementKey.objects.get(pk=key.pk))
    assert StatementKey.objects.filter(retired_at=None).count() == 1


def test_the_command_rotates_and_names_the_key(worker_host: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="no active"):
        call_command("rotate_statement_key")
    key, _ = signed()
    call_command("rotate_statement_key")
    assert capsys.readouterr().out.strip() == key.key_id
    assert StatementKey.objects.get().retired_at is not None


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_two_workers_that_need_a_key_at_once_get_the_same_and_the_database_has_one_at_most(worker_host: None) -> None:
    found = at_once(signed, signed, signed)
    assert len({key.pk for key, _ in found}) == 1, found
    assert StatementKey.objects.count() == PrivateStatementKey.objects.count() == 1
    with pytest.raises(IntegrityError):
        StatementKey.objects.create(key_id="ab" * 32, public_key="")


# --- The private half -------------------------------------------------------------------------------------------------


def test_no_other_process_signs_or_makes_a_key(db: None) -> None:
    with pytest.raises(SignerUnavailable, match="only workers sign"):
        signed()
    assert not StatementKey.objects.exists()
    assert not KEK.exists()


def test_a_key_encryption_key_that_is_away_is_waited_for_and_never_replaced(acme: Namespace, worker_host: None) -> None:
    """A statement is not asked for by anybody: it must not make a file in the place of one that is not mounted."""
    held_key(acme)
    assert fingerprints.is_kek_recorded()
    KEK.unlink()
    with pytest.raises(SignerUnavailable, match="cannot be read"):
        signed()
    assert not KEK.exists()
    assert not StatementKey.objects.exists()


def test_a_half_that_was_exchanged_or_damaged_signs_nothing(worker_host: None, acme: Namespace) -> None:
    first, _ = signed()
    statement_keys.rotate(actor=NOBODY)
    second, _ = signed()
    stolen = first.private_key
    rows = PrivateStatementKey.objects.filter(key=second)
    rows.update(nonce=stolen.nonce, ciphertext=stolen.ciphertext, kek_id=stolen.kek_id)
    with pytest.raises(SealBroken, match="damaged or was replaced"):
        signed()


def test_a_half_of_a_namespace_does_not_open_as_one_of_the_registry(worker_host: None, acme: Namespace) -> None:
    """Both kinds of rows may have the same number, and a forger could copy the fingerprint too."""
    of_namespace = held_key(acme)
    twin = StatementKey(pk=of_namespace.pk, key_id=of_namespace.fingerprint)
    half = of_namespace.private_key
    pasted = PrivateStatementKey(key=twin, nonce=half.nonce, ciphertext=half.ciphertext, kek_id=half.kek_id)
    with pytest.raises(SealBroken):
        vault.unseal(pasted)


def test_another_private_half_under_the_row_is_noticed_before_anything_leaves(
    worker_host: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed()
    monkeypatch.setattr(vault, "unseal", lambda _: bytes(range(32)))
    with pytest.raises(statement_keys.BadStatement):
        signed()


def test_it_is_resealed_with_the_others_and_named_where_it_cannot_be(worker_host: None, acme: Namespace) -> None:
    held_key(acme)
    key, envelope = signed()
    KEK.write_text(f"{'ab' * 32}\n{KEK.read_text()}")
    assert fingerprints.sealed_elsewhere() == ""
    assert reseal().startswith("2 resealed.\nAll private keys use the first line")
    KEK.write_text("ab" * 32 + "\n")
    assert signed() == (key, envelope)
    assert AuditEvent.objects.get(kind="operation:statement-key:resealed").detail["fingerprint"] == key.key_id

    PrivateStatementKey.objects.update(kek_id="0123456789abcdef")
    assert "0123456789abcdef" in fingerprints.sealed_elsewhere()
    said = reseal()
    assert "statements, " in said
    assert "1 could not be decrypted" in said
