"""Signing with real gpg, judged by real gpgv; nothing of it is left behind."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from django.utils import timezone

from apps.accounts.models import Namespace
from apps.lib.errors import Conflict
from apps.signing import gpg, packets, signer, vault
from apps.signing.models import Custody, PrivateKey, SigningKey, State
from apps.signing.signer import SigningFailed, sign
from apps.signing.verifying import verify
from tests.builders.held import held_key, key_row
from tests.builders.keys import gpg as run_gpg
from tests.builders.keys import gpg_home, signing_key
from tests.rows import for_each_row
from tests.signing.conftest import agents_in, homes_of
from tests.site.processes import eventually
from tests.threads import at_once

DATA = b"0" * 64 + b"  terraform-provider-maps_1.0.0_linux_amd64.zip\n"
GPG = shutil.which("gpg")  # the real one, before a test puts its own in front of it


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert homes_of(os.getpid()) == []
    # An agent that was told to end may need a moment on a busy machine.
    eventually(lambda: not agents_in(f"larder-gpg-{os.getpid()}-"), what="the end of the agents")


@pytest.fixture
def key(acme: Namespace, worker_host: None) -> SigningKey:
    return held_key(acme)


def passes_gpgv(key: SigningKey, signature: bytes, data: bytes, folder: Path) -> bool:
    (folder / "ring").write_bytes(packets.dearmored(key.armor))
    (folder / "signature").write_bytes(signature)
    command = ["gpgv", "--homedir", str(folder), "--keyring", str(folder / "ring"), str(folder / "signature"), "-"]
    return subprocess.run(command, input=data, capture_output=True, check=False).returncode == 0


def failed_step(key: SigningKey) -> str:
    with pytest.raises(SigningFailed) as failed:
        sign(key=key, data=DATA)
    return failed.value.step


@pytest.mark.slow
@for_each_row("kind", ["ed25519", "rsa4096", "nistp384", "subkey"])
def test_it_makes_one_binary_signature_that_gpgv_accepts(
    kind: str, acme: Namespace, worker_host: None, tmp_path: Path
) -> None:
    key = held_key(acme, kind)
    signature = sign(key=key, data=DATA)
    (packet,) = packets.packets(signature)
    head = packets.signature_head(packet)
    assert (packet.tag, head.version, head.digest) == (packets.SIGNATURE, 4, "SHA-512")
    assert passes_gpgv(key, signature, DATA, tmp_path)
    assert not passes_gpgv(key, signature, DATA + b"\n", tmp_path)
    assert verify(data=DATA, signature=signature, keys=[key]) == key


def two_keys() -> str:
    with gpg_home() as home:
        for kind in ("foreign", "ed25519"):
            run_gpg(home, "--import", data=signing_key(kind).secret_armor.encode())
        return run_gpg(home, "--armor", "--export-secret-keys").decode()


@for_each_row(
    "secret",
    [
        lambda: signing_key("foreign").secret_armor,
        lambda: signing_key("revoked").secret_armor,
        two_keys,
        lambda: signing_key().armor,
        lambda: "nothing",
        lambda: "",
    ],
    ids=["another's", "revoked", "two keys", "public", "garbage", "empty"],
)
def test_it_refuses_the_private_half_of_another_key(secret: Callable[[], str], key: SigningKey) -> None:
    """A secret that is not exactly the private half of the row's key is refused before anything is signed."""
    PrivateKey.objects.filter(key=key).delete()
    vault.seal(key, secret().encode()).save()
    assert failed_step(key) == "import"


@pytest.mark.slow
def test_it_refuses_a_key_that_still_wants_a_passphrase(acme: Namespace, worker_host: None) -> None:
    assert failed_step(held_key(acme, "protected")) in ("import", "sign")


def test_gpg_refuses_an_expired_key_that_the_row_believes_in(acme: Namespace, worker_host: None) -> None:
    key = held_key(acme, "expired")
    SigningKey.objects.filter(pk=key.pk).update(expires_at=None)
    key.refresh_from_db()
    assert failed_step(key) == "sign"


@for_each_row(
    "changes",
    [{"state": State.RETIRED}, {"state": State.REVOKED}, {"custody": Custody.PUBLISHER}],
    ids=["retired", "revoked", "publisher"],
)
def test_only_an_active_key_of_the_registry_signs(changes: dict, key: SigningKey) -> None:
    SigningKey.objects.filter(pk=key.pk).update(**changes)
    key.refresh_from_db()
    with pytest.raises(Conflict, match="cannot sign"):
        sign(key=key, data=DATA)


def test_a_missing_private_half_and_an_end_are_conflicts(acme: Namespace, worker_host: None) -> None:
    with pytest.raises(Conflict, match=r"private key of .* is not stored"):
        sign(key=key_row(acme, custody=Custody.REGISTRY), data=DATA)
    with pytest.raises(Conflict, match="expired"):
        sign(key=held_key(acme, "expired"), data=DATA)


@for_each_row(("kind", "days", "step"), [("old", -3, "clock"), ("old", 3, "clock"), ("ed25519", -3, "import")])
def test_a_clock_that_is_wrong_by_days_signs_nothing(
    kind: str, days: int, step: str, acme: Namespace, worker_host: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients take a signature from the future for an expired one. A key from the future cannot even be imported."""
    key = held_key(acme, kind)
    clock = timezone.now() + timedelta(days=days)
    monkeypatch.setattr(gpg, "OPTIONS", [*gpg.OPTIONS, "--faked-system-time", f"{clock:%Y%m%dT%H%M%S}"])
    assert failed_step(key) == step


@for_each_row(
    ("what", "step"),
    [
        ("| head -c 40", "verify"),
        ("> /dev/null", "sign"),
        (f"| {GPG} --enarmor", "sign"),
        ("&& head -c 40 /dev/zero", "verify"),
    ],
    ids=["truncated", "empty", "armoured", "padded"],
)
def test_a_gpg_that_writes_something_else_is_noticed(
    what: str, step: str, key: SigningKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapper = tmp_path / "gpg"
    choice = f'case "$*" in *--detach-sign*) {GPG} "$@" {what} ;; *) exec {GPG} "$@" ;; esac'
    wrapper.write_text(f"#!/bin/bash\nset -o pipefail\n{choice}\n")
    wrapper.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert failed_step(key) == step


@pytest.mark.both
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a13_sixty_four_at_once_all_succeed_and_leave_nothing(pantry: Namespace, worker_host: None) -> None:
    """None fails for the memory that gpg locks; `nothing_is_left` looks for homes and agents."""
    key = held_key(pantry, "rsa4096")
    signatures = at_once(*(partial(sign, key=key, data=DATA + b"%d" % number) for number in range(64)))
    assert len(set(signatures)) == 64
    assert verify(data=DATA + b"63", signature=signatures[63], keys=[key]) == key
    assert signer.CONCURRENCY.acquire(blocking=False)
    signer.CONCURRENCY.release()
