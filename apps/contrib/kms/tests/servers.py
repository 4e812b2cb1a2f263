"""AWS KMS (moto's) and a Vault-shaped server, as tests of the key-encryption key ask for them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from boto3.session import Session

from tests import s3

Use = Callable[..., None]


class Aws:
    """moto's KMS. `url` makes a key with that alias."""

    def __init__(self, port: int) -> None:
        self.endpoint = f"http://127.0.0.1:{port}"
        self.client: Any = Session(
            aws_access_key_id="test",
            aws_secret_access_key="test",
            region_name="eu-central-1",
        ).client("kms", endpoint_url=self.endpoint)

    def new_key(self) -> str:
        return str(self.client.create_key()["KeyMetadata"]["KeyId"])

    def url(self, alias: str) -> str:
        known = {one["AliasName"] for one in self.client.list_aliases()["Aliases"]}
        if f"alias/{alias}" not in known:
            self.client.create_alias(AliasName=f"alias/{alias}", TargetKeyId=self.new_key())
        return f"awskms://alias/{alias}?region=eu-central-1&endpoint={self.endpoint}"


@contextmanager
def aws() -> Iterator[Aws]:
    with s3.server() as port:
        yield Aws(port)
