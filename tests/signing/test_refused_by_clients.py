"""Signatures that gpg calls good and clients refuse: dated ahead, or with something critical that they do not know."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.accounts.models import Namespace
from apps.signing import packets
from apps.signing.models import SigningKey
from apps.signing.verifying import READ_BY_CLIENTS, BadSignature, verify
from tests.builders.held import key_row
from tests.builders.keys import ahead, signing_key
from tests.rows import for_each_row

DATA = b"0" * 64 + b"  terraform-provider-maps_1.0.0_linux_amd64.zip\n"
NOTATION = 20


@pytest.fixture
def key(acme: Namespace) -> SigningKey:
    return key_row(acme)


def refusal_of(signature: bytes, key: SigningKey, data: bytes = DATA, *, was_accepted: bool = False) -> BadSignature:
    with pytest.raises(BadSignature) as refused:
        verify(data=data, signature=signature, keys=[key], was_accepted=was_accepted)
    return refused.value


def test_a_signature_dated_ahead_is_refused_with_both_clocks(key: SigningKey) -> None:
    signature = signing_key().sign(DATA, *ahead(timedelta(minutes=30)))
    (packet,) = packets.packets(signature)
    made_at = datetime.fromtimestamp(packets.signature_head(packet).made_at, UTC)
    refused = refusal_of(signature, key)

    assert refused.reason.code == "signature_future"
    assert f"dated {made_at:%Y-%m-%d %H:%M:%S} UTC" in refused.reason.found
    assert "Set the clock" in refused.reason.hint
    assert refusal_of(signature, key, was_accepted=True).reason.code == "signature_future"


def test_clocks_may_differ_by_some_seconds_and_long_ago_is_not_ahead(key: SigningKey, acme: Namespace) -> None:
    assert verify(data=DATA, signature=signing_key().sign(DATA, *ahead(timedelta(seconds=5))), keys=[key]) == key
    old = key_row(acme, "old")
    assert verify(data=DATA, signature=signing_key("old").sign(DATA), keys=[old]) == old


@for_each_row(
    ("option", "value", "named"),
    [
        ("--sig-keyserver-url", "!https://keys.example.com/p", "24 (preferred key server)"),
        ("--sig-notation", "!note@example.com=x", "20 (notation)"),
        ("--sig-notation", "!preferred-email-encoding@pgp.com=x", "20 (notation)"),
    ],
    ids=["key-server", "notation", "notation-that-gpg-knows"],
)
def test_what_is_critical_and_unknown_to_clients_is_named(option: str, value: str, named: str, key: SigningKey) -> None:
    refused = refusal_of(signing_key().sign(DATA, option, value), key)

    assert refused.reason.code == "signature_critical"
    assert named in refused.reason.found
    assert option in refused.reason.hint
    assert verify(data=DATA, signature=signing_key().sign(DATA, option, value.removeprefix("!")), keys=[key]) == key


def test_a_policy_that_is_critical_is_read_by_clients(key: SigningKey) -> None:
    signature = signing_key().sign(DATA, "--sig-policy-url", "!https://example.com/policy")
    assert verify(data=DATA, signature=signature, keys=[key]) == key


def test_every_kind_is_refused_but_those_that_clients_read(key: SigningKey) -> None:
    """The kind of a subpacket is changed in place, so those that pass are stopped by what the signature is over."""
    signature = signing_key().sign(DATA, "--sig-notation", "note@example.com=x")
    at = signature.index(b"\x80\x00\x00\x00\x00\x10\x00\x01note@") - 1
    assert signature[at] == NOTATION
    for kind in range(128):
        refused = refusal_of(signature[:at] + bytes([0x80 | kind]) + signature[at + 1 :], key).reason
        assert (refused.code == "signature_critical") == (kind not in READ_BY_CLIENTS), (kind, refused)
        if refused.code == "signature_critical":
            assert f"subpacket {kind}" in refused.found


def test_what_is_critical_beside_the_hash_is_passed_over_as_clients_do(key: SigningKey) -> None:
    """Nobody signed it. A preferred key server that is critical takes the place of the hint whose key it is."""
    signature = signing_key().sign(DATA)
    hint = signature.index(bytes.fromhex("000a0910"))
    changed = signature[: hint + 3] + bytes([0x80 | 24]) + signature[hint + 4 :]
    assert verify(data=DATA, signature=changed, keys=[key]) == key
