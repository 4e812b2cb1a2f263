"""A whole Larder whose key-encryption key is in AWS KMS or Vault: it makes a key, signs, moves, and signs again."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from apps.contrib.kms.addresses import KINDS
from apps.contrib.kms.tests import servers
from apps.contrib.kms.tests.vault_server import TOKEN, vault_server
from apps.lib.settings_values.kek_urls import parse_all
from tests import s3
from tests.flows.crashing import check_signature, hand_in, make_key
from tests.live import start_live

pytestmark = [
    pytest.mark.live,
    pytest.mark.embedded("it reads what the worker left in its data folder"),
]


@contextmanager
def service_of(kind: str, folder: Path) -> Iterator[str]:
    if kind == "aws":
        with servers.aws() as aws:
            yield aws.url("live")
    else:
        (folder / "token").write_text(TOKEN)
        with vault_server() as vault:
            yield vault.url(folder / "token")


@pytest.mark.parametrize("kind", ["vault", pytest.param("aws", marks=pytest.mark.nightly)])
def test_a_provider_is_signed_with_the_key_in_a_service(kind: str, tmp_path: Path) -> None:
    with (
        service_of(kind, tmp_path) as url,
        start_live(
            tmp_path / "larder", why="its keys are sealed by a service", LARDER_SIGNING_KEK_URL=url, **s3.KEYS
        ) as larder,
        larder.client(larder.token()) as client,
    ):
        make_key(client, "shelf", "ed25519")
        assert larder.wait_for(client, hand_in(client, "shelf", "1.0.0"))["state"] == "published"
        check_signature(client, "shelf", "1.0.0", tmp_path)
        assert not (larder.data_dir / "signing").exists(), "no file is made beside a service"
        assert larder.query("SELECT length(wrapped_key) FROM signing_privatekey") > 32

        # The worker goes on meanwhile.
        [address] = parse_all([url], KINDS)
        assert address is not None
        said = larder.manage("reseal_signing_keys", "--all")
        # The key of the statement about 1.0.0 may be there by then.
        use = f"resealed.\nAll private keys use the key of {address.title}.\n"
        assert said in (f"1 {use}", f"2 {use}")
        assert larder.wait_for(client, hand_in(client, "shelf", "1.1.0"))["state"] == "published"
        (tmp_path / "key.asc").unlink()
        check_signature(client, "shelf", "1.1.0", tmp_path)
        assert TOKEN not in larder.output.read_text()
