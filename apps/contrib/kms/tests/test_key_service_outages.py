"""A key service that fails, hangs, refuses or is not there is waited for, and says why."""

import re
import time
from pathlib import Path

import pytest
from botocore.stub import Stubber

from apps.accounts.models import Namespace
from apps.contrib.kms import aws as aws_kms
from apps.contrib.kms import vault as kms_vault
from apps.contrib.kms.tests.servers import Aws, Use
from apps.contrib.kms.tests.vault_server import JWT, ROLE, TOKEN, FakeVault, vault_server
from apps.signing import kms, vault
from apps.signing.models import SigningKey
from apps.signing.vault import KeyServiceAway, SealBroken
from registry_site.startup import certificates
from tests import s3
from tests.builders.held import held_key
from tests.rows import for_each_row
from tests.signing.private_keys import row_of, signs


@for_each_row(
    ("status", "hint"),
    [
        (500, "sealed"),
        (503, "sealed"),
        (429, "sealed"),
        (403, "transit/decrypt/larder"),
        (404, "mount"),
        (307, "sealed"),
    ],
)
def test_a_vault_that_fails_is_waited_for(key: SigningKey, bao: FakeVault, status: int, hint: str) -> None:
    bao.status = status

    with pytest.raises(KeyServiceAway, match=str(status)) as away:
        vault.unseal(row_of(key))
    assert hint in away.value.hint
    assert "LARDER_SIGNING_KEK_URL" in away.value.hint
    assert TOKEN not in str(away.value) + away.value.hint
    with pytest.raises(KeyServiceAway):
        vault.seal(key, b"secret")


@pytest.mark.slow
@for_each_row("how", ["silent", "drips"])
def test_a_vault_that_hangs_is_given_up(
    key: SigningKey, bao: FakeVault, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(kms_vault, "SECONDS", 1.0)
    bao.hangs = how

    began = time.monotonic()
    with pytest.raises(KeyServiceAway, match="gave no answer"):
        vault.unseal(row_of(key))
    assert time.monotonic() - began < 5


def test_a_service_that_is_not_there_is_waited_for(use: Use, service: str, acme: Namespace, settings) -> None:
    use(service)
    key = held_key(acme)
    there = settings.SIGNING_KEKS
    use(re.sub(r"127.0.0.1:\d+", "127.0.0.1:9", service))

    began = time.monotonic()
    with pytest.raises(KeyServiceAway) as away:
        vault.unseal(row_of(key))
    assert time.monotonic() - began < 15
    assert "LARDER_SIGNING_KEK_URL" in away.value.hint
    settings.SIGNING_KEKS = there
    assert signs(key)


@for_each_row(
    ("code", "hint"),
    [
        ("AccessDeniedException", "kms:Decrypt"),
        ("ExpiredTokenException", "kms:Decrypt"),
        ("ThrottlingException", "will retry"),
        ("KMSInternalException", "will retry"),
        ("DisabledException", "is enabled"),
        ("KMSInvalidStateException", "is enabled"),
        ("IncorrectKeyException", "the alias may have moved"),
    ],
)
def test_what_aws_refuses_is_waited_for(use: Use, aws: Aws, acme: Namespace, code: str, hint: str) -> None:
    use(aws.url("larder"))
    key = held_key(acme)
    [asked] = vault.services()
    with Stubber(asked._client) as stub:  # type: ignore[attr-defined]
        stub.add_client_error("decrypt", code, f"user arn:aws:iam::111122223333:role/x is not allowed: {code}")
        with pytest.raises(KeyServiceAway, match=code) as away:
            vault.unseal(row_of(key))
    assert hint in away.value.hint
    assert "111122223333" not in str(away.value)
    assert signs(key)


def test_a_row_cannot_choose_the_key_of_somebody_else(use: Use, aws: Aws, acme: Namespace) -> None:
    use(aws.url("larder"))
    key = held_key(acme)
    wrapped = bytes(row_of(key).wrapped_key or b"")
    [asked] = vault.services()
    with Stubber(asked._client) as stub:  # type: ignore[attr-defined]
        sent = {
            "KeyId": "alias/larder",
            "CiphertextBlob": wrapped,
            "EncryptionContext": {"larder": "sign releases", "fingerprint": key.fingerprint},
        }
        stub.add_response("decrypt", {"Plaintext": b"k" * 32}, sent)
        with pytest.raises(SealBroken):
            vault.unseal(row_of(key))


@pytest.mark.slow
def test_an_aws_that_hangs_is_given_up(
    use: Use, aws: Aws, bao: FakeVault, acme: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aws_kms, "READ_SECONDS", 0.5)
    use(f"awskms://alias/larder?region=eu-central-1&endpoint=http://127.0.0.1:{bao.port}")
    bao.hangs = "silent"

    began = time.monotonic()
    with pytest.raises(KeyServiceAway, match="ReadTimeoutError"):
        vault.new_data_key("A" * 40)
    assert time.monotonic() - began < 10


def test_an_unknown_key_is_named_and_without_credentials_or_a_region_aws_is_not_asked(
    use: Use, aws: Aws, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, db: None
) -> None:
    use(f"awskms://alias/nowhere?region=eu-central-1&endpoint={aws.endpoint}")
    with pytest.raises(KeyServiceAway, match="NotFoundException") as away:
        vault.new_data_key("A" * 40)
    assert "region" in away.value.hint

    for name in s3.KEYS:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    for url in (f"awskms://alias/bare?region=eu-central-1&endpoint={aws.endpoint}", "awskms://alias/bare?profile=none"):
        use(url)
        with pytest.raises(KeyServiceAway, match=r"NoCredentialsError|ProfileNotFound") as away:
            vault.new_data_key("A" * 40)
        assert "credentials" in away.value.hint


def test_a_token_that_an_agent_exchanges_is_read_again(key: SigningKey, bao: FakeVault, token_file: Path) -> None:
    bao.tokens = {"hvs.the-next-one"}
    with pytest.raises(KeyServiceAway, match="403"):
        vault.unseal(row_of(key))

    token_file.write_text("hvs.the-next-one")
    assert signs(key)
    for text in ("", "two\nlines", "café"):
        token_file.write_text(text)
        kms.forget()
        with pytest.raises(KeyServiceAway, match="empty, or"):
            vault.unseal(row_of(key))
    token_file.unlink()
    with pytest.raises(KeyServiceAway, match="cannot be read") as away:
        vault.unseal(row_of(key))
    assert "token_file" in away.value.hint


def test_a_pod_signs_in_with_its_service_account_and_again_when_the_token_has_ended(
    use: Use, bao: FakeVault, tmp_path: Path, acme: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jwt").write_text(JWT)
    monkeypatch.setattr(kms_vault, "POD_TOKEN", tmp_path / "jwt")
    use(bao.url(tmp_path).replace(f"token_file={tmp_path}", f"kubernetes_role={ROLE}") + "&namespace=platform")
    key = held_key(acme)
    assert signs(key)
    assert {headers.get("X-Vault-Namespace") for _, headers in bao.asked} == {"platform"}
    assert [path for path, _ in bao.asked].count("/v1/auth/kubernetes/login") == 1

    bao.tokens.clear()
    kms.forget()
    assert signs(key)
    assert [path for path, _ in bao.asked].count("/v1/auth/kubernetes/login") == 2
    (tmp_path / "jwt").write_text("another pod")
    bao.tokens.clear()
    kms.forget()
    with pytest.raises(KeyServiceAway, match="sign-in with Kubernetes"):
        vault.unseal(row_of(key))


def test_a_vault_with_a_certificate_of_its_own_needs_its_authority(
    use: Use, token_file: Path, tmp_path: Path, acme: Namespace
) -> None:
    files = certificates.served("auto", data_dir=tmp_path, listen_host="127.0.0.1", public_url="https://127.0.0.1:8200")
    assert files is not None
    with vault_server(certificate=files.certificate, key=files.key) as bao:
        url = bao.url(token_file).replace("vault+http:", "vault+https:")
        use(f"{url}&ca={files.ca}")
        assert signs(held_key(acme))
        use(url)
        with pytest.raises(KeyServiceAway, match="certificate that is not trusted"):
            vault.new_data_key("A" * 40)
        use(f"{url}&ca={tmp_path / 'nowhere.pem'}")
        with pytest.raises(KeyServiceAway, match="FileNotFoundError"):
            vault.new_data_key("A" * 40)
