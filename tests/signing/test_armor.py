"""Only one public key that every client reads can be registered. Each refusal has a code and a hint."""

import base64
import time
from datetime import UTC, datetime, timedelta

import pytest

from apps.signing import armor
from apps.signing import gpg as programs
from apps.signing.armor import KeyRefused, parse
from tests.builders.keys import gpg, gpg_home, signing_key
from tests.rows import for_each_row


def refusal_of(text: str) -> KeyRefused:
    with pytest.raises(KeyRefused) as refused:
        parse(text)
    assert refused.value.hint
    assert refused.value.reason.found in str(refused.value)
    return refused.value


def armored(*packets: bytes) -> str:
    body = base64.b64encode(b"".join(packets)).decode()
    return f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{body}\n-----END PGP PUBLIC KEY BLOCK-----\n"


def packet(tag: int, body: bytes) -> bytes:
    return bytes([0xC0 | tag, len(body)]) + body


@for_each_row("kind", ["ed25519", "rsa2048", "rsa3072", "rsa4096", "nistp256", "nistp384", "nistp521", "subkey"])
def test_it_reads_what_every_client_reads(kind: str) -> None:
    made = signing_key(kind)
    parsed = parse(made.armor)
    assert (parsed.fingerprint, parsed.key_id) == (made.fingerprint, made.fingerprint[-16:])
    assert parsed.algorithm == ("ed25519" if kind == "subkey" else kind)
    assert parsed.uid == f"{kind.capitalize()} Tester <{kind}@example.com>"
    assert parsed.expires_at is None
    assert abs(datetime.now(UTC) - parsed.made_at) < timedelta(days=1)


def test_it_knows_when_the_key_ends() -> None:
    ends = parse(signing_key("expiring").armor).expires_at
    assert ends is not None
    assert timedelta(days=19) < ends - datetime.now(UTC) <= timedelta(days=20)


def test_the_kept_armour_is_the_same_however_the_block_came() -> None:
    text = signing_key().armor
    plain = parse(text).armor
    assert plain.count("-----BEGIN") == 1
    comment = text.replace("-----\n\n", "-----\nComment: from my laptop\n\n", 1)
    for came in (text.replace("\n", "\r\n"), f"Hello,\nhere is it:\n\n{text}\nBye\n", comment):
        assert parse(came).armor == plain


def test_what_signs_nothing_is_dropped() -> None:
    whole, kept = signing_key("subkey").armor, parse(signing_key("subkey").armor).armor
    assert len(kept) < len(whole)
    with gpg_home() as home:
        gpg(home, "--import", data=kept.encode())
        listed = gpg(home, "--with-colons", "--list-keys").decode().splitlines()
    assert [line.split(":")[11] for line in listed if line.startswith("sub:")] == ["s"]


@for_each_row(
    ("kind", "code"),
    [
        ("rsa1024", "key_weak"),
        ("dsa", "key_algorithm"),
        ("secp256k1", "key_algorithm"),
        ("brainpool", "key_algorithm"),
        ("expired", "key_expired"),
        ("revoked", "key_revoked"),
        ("certify-only", "key_cannot_sign"),
    ],
)
def test_it_refuses_keys_that_cannot_serve(kind: str, code: str) -> None:
    assert refusal_of(signing_key(kind).armor).reason.code == code


def test_it_says_that_a_private_key_must_be_revoked_now_also_behind_a_public_label() -> None:
    disguised = signing_key().secret_armor.replace("PRIVATE KEY", "PUBLIC KEY")
    for text in (signing_key().secret_armor, signing_key("protected").secret_armor, disguised):
        refused = refusal_of(text)
        assert refused.reason.code == "key_secret"
        assert "must be revoked now" in refused.hint


def test_it_wants_one_block_with_one_key() -> None:
    one, other = signing_key().armor, signing_key("foreign").armor
    assert refusal_of(one + other).reason.code == "key_blocks"
    with gpg_home() as home:
        gpg(home, "--import", data=one.encode())
        gpg(home, "--import", data=other.encode())
        both = gpg(home, "--armor", "--export").decode()
    assert refusal_of(both).reason.code == "key_several"


@for_each_row(
    ("version", "algorithm", "code"),
    [(6, 27, "key_version"), (5, 22, "key_version"), (3, 1, "key_version"), (4, 27, "key_algorithm")],
)
def test_it_refuses_what_only_new_clients_read(version: int, algorithm: int, code: str) -> None:
    body = bytes([version]) + bytes(4) + bytes([algorithm]) + bytes(32)
    assert refusal_of(armored(packet(6, body))).reason.code == code


def test_it_refuses_what_is_no_key() -> None:
    whole = signing_key().armor
    damaged = whole[: len(whole) // 2]
    signature = signing_key().sign(b"data", "--armor").decode()
    texts = ["", "  \n", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5", damaged, signature, armored(b"\x00\x01"), armored(b"\xc6")]
    foreign = whole.replace("\n\n", "\n\né", 1)
    codes = [refusal_of(text).reason.code for text in [*texts, foreign]]
    assert codes == [*["key_blocks"] * 3, "key_unreadable", "key_blocks", *["key_unreadable"] * 3]
    assert refusal_of(whole + "x" * armor.MAX_KEY_BYTES).reason.code == "key_too_large"


def test_it_refuses_a_key_that_was_tampered_with() -> None:
    lines = [line for line in signing_key().armor.splitlines() if not line.startswith("=")]  # without its check value
    # In the signature itself: of what is before it, GnuPG 2.4 leaves other parts unsigned than 2.2.
    lines[-2] = lines[-2][:20] + ("A" if lines[-2][20] != "A" else "B") + lines[-2][21:]
    assert refusal_of("\n".join(lines) + "\n").reason.code in ("key_unreadable", "key_cannot_sign")


def test_a_gpg_that_hangs_is_killed(tmp_path, monkeypatch):
    hangs = tmp_path / "gpg"
    hangs.write_text('#!/bin/sh\ncase "$*" in *--list-config*) echo cfg:version:2.2.40;; *) exec sleep 30;; esac\n')
    hangs.chmod(0o700)
    monkeypatch.setattr(programs, "program", lambda _: str(hangs))
    began = time.monotonic()
    assert list(programs.Gpg(tmp_path, seconds=0.3).list_keys()) == []
    assert time.monotonic() - began < 10
