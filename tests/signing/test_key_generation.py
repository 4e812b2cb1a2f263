"""Keys that the registry holds: made by a worker, or imported on its host."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace
from apps.audit.models import AuditEvent
from apps.jobs import queue
from apps.jobs.models import Job
from apps.lib.errors import Conflict
from apps.signing import keys, packets, vault
from apps.signing.models import Custody, PrivateKey, SigningKey, State
from apps.signing.signer import sign
from apps.signing.verifying import verify
from tests.builders.keys import PASSPHRASE, signing_key

Make = Callable[[], None]


@pytest.mark.parametrize("algorithm", keys.ALGORITHMS)
def test_a_worker_makes_what_was_asked_for(
    algorithm: str, acme: Namespace, owner: Viewer, worker_host: None, make_keys: Make
) -> None:
    key = keys.request(namespace=acme, algorithm=algorithm, actor=owner)
    assert (key.state, key.fingerprint, key.algorithm) == (State.PENDING, "", algorithm)
    assert keys.signing_key_of(acme) is None
    make_keys()
    key.refresh_from_db()
    assert (key.state, key.custody, key.algorithm) == (State.ACTIVE, Custody.REGISTRY, algorithm)
    assert key.uid == f"acme at {settings.PUBLIC_HOST}"
    assert key.expires_at is None
    assert keys.signing_key_of(acme) == key
    assert verify(data=b"data", signature=sign(key=key, data=b"data"), keys=[key]) == key
    assert Job.objects.get().state == "succeeded"
    kinds = AuditEvent.objects.order_by("pk").values_list("kind", "detail__fingerprint")
    assert list(kinds) == [("namespace:key:requested", ""), ("namespace:key:made", key.fingerprint)]


@pytest.mark.both
def test_the_private_half_is_stored_sealed_and_nowhere_else(
    acme: Namespace, owner: Viewer, worker_host: None, make_keys: Make
) -> None:
    key = keys.request(namespace=acme, algorithm="ed25519", actor=owner)
    with CaptureQueriesContext(connection) as queries:
        make_keys()
    secret = vault.unseal(PrivateKey.objects.get(key=key))
    assert not packets.is_protected(secret)
    assert secret.hex() not in str(queries.captured_queries)
    for path in Path(settings.DATA_DIR).rglob("*"):
        assert not path.is_file() or secret not in path.read_bytes()


@pytest.mark.both
def test_one_request_at_a_time(acme: Namespace, owner: Viewer, worker_host: None, make_keys: Make) -> None:
    keys.request(namespace=acme, algorithm="ed25519", actor=owner)
    with pytest.raises(Conflict, match="already being generated"):
        keys.request(namespace=acme, algorithm="rsa4096", actor=owner)
    make_keys()
    assert keys.request(namespace=acme, algorithm="ed25519", actor=owner).state == State.PENDING
    assert SigningKey.objects.count() == 2


@pytest.mark.both
def test_a_job_that_runs_twice_makes_one_key(
    acme: Namespace, owner: Viewer, worker_host: None, make_keys: Make
) -> None:
    key = keys.request(namespace=acme, algorithm="ed25519", actor=owner)
    make_keys()
    key.refresh_from_db()
    before = key.fingerprint
    queue.enqueue(keys.JOB, target=key.pk, created_by_id=None)
    make_keys()
    key.refresh_from_db()
    assert key.fingerprint == before
    assert PrivateKey.objects.count() == 1


def test_a_process_without_the_key_encryption_key_leaves_it_to_another(
    acme: Namespace, owner: Viewer, make_keys: Make
) -> None:
    key = keys.request(namespace=acme, algorithm="ed25519", actor=owner)
    make_keys()
    key.refresh_from_db()
    job = Job.objects.get()
    assert (key.state, job.state, job.attempts) == (State.PENDING, "queued", 0)
    assert "only workers" in job.error


def test_what_no_worker_could_make_says_so_and_can_be_asked_for_again(
    acme: Namespace, owner: Viewer, worker_host: None, make_keys: Make
) -> None:
    key = keys.request(namespace=acme, algorithm="rsa4096", actor=owner)
    Job.objects.update(attempts=settings.JOB_ATTEMPTS)
    make_keys()
    key.refresh_from_db()
    assert key.state == State.PENDING
    assert "Request it again" in key.reason
    assert Job.objects.get().state == "failed"
    again = keys.request(namespace=acme, algorithm="ed25519", actor=owner)
    assert (again.pk, again.reason, again.algorithm) == (key.pk, "", "ed25519")
    make_keys()
    again.refresh_from_db()
    assert again.state == State.ACTIVE


def import_file(text: str, folder: Path, namespace: str = "acme") -> str:
    file, out = folder / "secret.asc", StringIO()
    file.write_text(text)
    call_command("import_signing_key", "--namespace", namespace, "--file", str(file), stdout=out, stderr=StringIO())
    return out.getvalue().strip()


@pytest.mark.parametrize("kind", ["ed25519", "rsa4096", "subkey"])
def test_the_command_imports_a_key_that_signs(kind: str, acme: Namespace, tmp_path: Path, request) -> None:
    made = signing_key(kind)
    assert import_file(made.secret_armor, tmp_path) == made.fingerprint
    key = keys.signing_key_of(acme)
    assert key is not None
    assert "PRIVATE" not in key.armor
    request.getfixturevalue("worker_host")
    assert verify(data=b"data", signature=sign(key=key, data=b"data"), keys=[key]) == key
    assert AuditEvent.objects.get().kind == "namespace:key:registered"


def test_the_command_takes_the_passphrase_off(
    acme: Namespace, tmp_path: Path, worker_host: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [PASSPHRASE]  # it asks once
    monkeypatch.setattr("getpass.getpass", lambda _: answers.pop())
    import_file(signing_key("protected").secret_armor, tmp_path)
    vault.unlock()
    key = keys.signing_key_of(acme)
    assert key is not None
    assert not packets.is_protected(vault.unseal(key.private_key))
    assert verify(data=b"data", signature=sign(key=key, data=b"data"), keys=[key]) == key


def test_the_command_refuses_a_wrong_passphrase(
    acme: Namespace, tmp_path: Path, worker_host: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getpass.getpass", lambda _: "wrong")
    with pytest.raises(CommandError, match="this passphrase opens"):
        import_file(signing_key("protected").secret_armor, tmp_path)
    assert not SigningKey.objects.exists()


def test_the_command_refuses_what_could_not_sign(acme: Namespace, tmp_path: Path, worker_host: None) -> None:
    both = signing_key().secret_armor + signing_key("foreign").secret_armor
    for text in ("", "no key", signing_key().armor, both, "x" * 70_000):
        with pytest.raises(CommandError):
            import_file(text, tmp_path)
    for kind in ("rsa1024", "secp256k1", "expired"):
        with pytest.raises(CommandError, match=r"Found an? (RSA )?key"):
            import_file(signing_key(kind).secret_armor, tmp_path)
    with pytest.raises(CommandError, match="no namespace"):
        import_file(signing_key().secret_armor, tmp_path, namespace="nowhere")
    assert not SigningKey.objects.exists()


def test_the_command_says_that_a_key_is_known(acme: Namespace, tmp_path: Path, worker_host: None) -> None:
    import_file(signing_key().secret_armor, tmp_path)
    with pytest.raises(CommandError, match="registered in acme already"):
        import_file(signing_key().secret_armor, tmp_path)
    assert PrivateKey.objects.count() == 1
