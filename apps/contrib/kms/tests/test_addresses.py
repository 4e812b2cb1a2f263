"""LARDER_SIGNING_KEK_URL as it is read: each mistake is named with what to write instead, and without its secrets."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.contrib.kms.addresses import KINDS, AwsAddress, VaultAddress
from apps.lib.errors import Invalid
from apps.lib.settings_values.kek_urls import parse_all
from registry_site import env
from tests.rows import for_each_row

ARN = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
TOKEN = "token_file=/run/secrets/vault"


@for_each_row(
    ("url", "found"),
    [
        ("awskms://alias/larder?region=eu-central-1", AwsAddress("alias/larder", "eu-central-1")),
        ("awskms:///alias/larder", AwsAddress("alias/larder")),
        ("awskms://mrk-1234", AwsAddress("mrk-1234")),
        (f"awskms://{ARN}", AwsAddress(ARN, "eu-central-1")),
        (f"awskms://{ARN}?region=eu-west-1&profile=kms", AwsAddress(ARN, "eu-west-1", profile="kms")),
        (
            "awskms://alias/larder?endpoint=https://kms.acme.example",
            AwsAddress("alias/larder", endpoint="https://kms.acme.example"),
        ),
        (
            f"vault+https://vault.acme.example:8200/transit/keys/larder?{TOKEN}",
            VaultAddress("https://vault.acme.example:8200", "transit", "larder", "/run/secrets/vault"),
        ),
        (
            "vault+https://vault.acme.example/v1/team/transit/keys/lar-der?kubernetes_role=larder&namespace=a/b&ca=/ca.pem",
            VaultAddress(
                "https://vault.acme.example",
                "team/transit",
                "lar-der",
                kubernetes_role="larder",
                namespace="a/b",
                ca="/ca.pem",
            ),
        ),
        (
            f"vault+http://127.0.0.1:8100/transit/keys/larder?{TOKEN}",
            VaultAddress("http://127.0.0.1:8100", "transit", "larder", "/run/secrets/vault"),
        ),
    ],
)
def test_an_address_is_read(url, found):
    assert parse_all([url], KINDS) == (found,)


def test_several_are_read_in_their_order_and_the_file_is_one_of_them():
    assert parse_all(["awskms://alias/larder", "file:"], KINDS) == (AwsAddress("alias/larder"), None)


@for_each_row(
    ("url", "said"),
    [
        ("awskms://", "must include a key"),
        ("awskms://alias/", "must include a key"),
        ("awskms://alias/lar der", "must include a key"),
        ("awskms://arn:aws:s3:::larder", "must include a key"),
        ("awskms://alias/larder?acess_key=hunter2", "Unknown option 'acess_key': expected one of region"),
        ("awskms://alias/larder?endpoint=kms.acme.example", "endpoint is not a server"),
        (f"vault+http://vault.acme.example/transit/keys/larder?{TOKEN}", "plain http"),
        (f"vault+https:///transit/keys/larder?{TOKEN}", "no host"),
        (f"vault+https://larder:hunter2@vault.acme.example/transit/keys/larder?{TOKEN}", "user name"),
        (f"vault+https://vault.acme.example:port/transit/keys/larder?{TOKEN}", "no host"),
        (f"vault+https://vault.acme.example/transit/larder?{TOKEN}", "names no transit key"),
        (f"vault+https://vault.acme.example/keys/larder?{TOKEN}", "names no transit key"),
        (f"vault+https://vault.acme.example/transit/keys/../x?{TOKEN}", "names no transit key"),
        ("vault+https://vault.acme.example/transit/keys/larder", "exactly one of the options token_file"),
        (f"vault+https://vault.acme.example/transit/keys/larder?{TOKEN}&kubernetes_role=x", "exactly one"),
        ("vault+https://vault.acme.example/transit/keys/larder?token=hunter2", "Unknown option 'token'"),
        ("file:///etc/larder/kek", "LARDER_SIGNING_KEK_FILE"),
        ("gcpkms://projects/x", "begins with 'gcpkms': expected file:, awskms://"),
        ("/etc/larder/kek", "expected file:"),
        ("vault+https://[::1/transit/keys/larder", "cannot be read"),
    ],
)
def test_a_mistake_is_named(url, said, monkeypatch):
    with pytest.raises(Invalid) as refused:
        parse_all([url], KINDS)
    monkeypatch.setenv("LARDER_SIGNING_KEK_URL", url)
    text = f"{refused.value} {refused.value.hint}"

    assert said in text
    assert "hunter2" not in text


def test_the_same_twice_is_a_mistake_and_the_file_is_the_default(monkeypatch):
    monkeypatch.setenv("LARDER_SIGNING_KEK_URL", "awskms://alias/larder, awskms://alias/larder")
    with pytest.raises(ImproperlyConfigured, match=r"LARDER_SIGNING_KEK_URL: The same .* is named twice"):
        env.kek_addresses("LARDER_SIGNING_KEK_URL", KINDS)
    monkeypatch.delenv("LARDER_SIGNING_KEK_URL")
    assert env.kek_addresses("LARDER_SIGNING_KEK_URL", KINDS) == (None,)


def test_ids_tell_keys_apart_and_not_the_ways_to_them():
    def of(url: str) -> str:
        [found] = parse_all([url], KINDS)
        assert found is not None
        return found.id

    plain = of("awskms://alias/larder?region=eu-central-1")
    assert len(plain) == 16
    assert plain == of("awskms://alias/larder?region=eu-central-1&endpoint=https://vpce.acme.example&profile=kms")
    assert plain != of("awskms://alias/larder?region=eu-west-1")
    vault = f"vault+https://vault.acme.example/transit/keys/larder?{TOKEN}"
    assert of(vault) == of(f"{vault}2&ca=/ca.pem")
    assert of(vault) != of(f"{vault}&namespace=team")
