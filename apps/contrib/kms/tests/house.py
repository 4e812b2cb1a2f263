"""The rows of key services in the tables of the house tests (see tests/rooms.py)."""

from apps.contrib.kms.addresses import AwsAddress, VaultAddress
from apps.contrib.kms.aws import AwsService
from apps.contrib.kms.vault import VaultService
from tests.postgres import free_port

NOWHERE = f"http://127.0.0.1:{free_port()}"
AWS = ("apps/contrib/kms/aws.py",)
TESTS_OF_AWS = ["apps/contrib/kms/tests/test_key_services.py"]


def ask_vault() -> None:
    VaultService(VaultAddress(server=NOWHERE, mount="transit", key="larder"))._post("encrypt", {}, "")


def ask_aws() -> None:
    AwsService(AwsAddress(key="alias/larder", region="eu-central-1", endpoint=NOWHERE)).wrap(b"x" * 32, {})


WAYS_OUT = [ask_vault, ask_aws]
