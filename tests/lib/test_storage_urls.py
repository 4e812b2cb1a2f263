"""The address of object storage: a misspelt option is refused, and no error shows a secret."""

import pytest

from apps.lib.errors import Invalid
from apps.lib.settings_values.storage_urls import AzureAddress, GoogleAddress, S3Address, check
from tests.rows import for_each_row


def test_every_option_is_read():
    found = S3Address.parse(
        "s3://acme/prod/larder/?endpoint=http://minio:9000&public_endpoint=https://s3.acme.example&region=eu"
        "&addressing=virtual&encryption=aws:kms&kms_key=alias/larder"
    )

    assert found == S3Address(
        "acme",
        "prod/larder",
        "http://minio:9000",
        "https://s3.acme.example",
        "eu",
        "virtual",
        "aws:kms",
        "alias/larder",
    )
    assert found.clients_endpoint == "https://s3.acme.example"
    assert S3Address.parse("s3://acme") == S3Address("acme")


def test_other_clouds_have_addresses_of_their_own():
    assert GoogleAddress.parse("gs://acme/prod/larder/") == GoogleAddress("acme", "prod/larder")
    found = AzureAddress.parse("azure://registry/prod?account=acmelarder")
    assert found == AzureAddress("registry", "prod", "acmelarder")
    assert found.clients_endpoint == "https://acmelarder.blob.core.windows.net"


@for_each_row(
    ("url", "says"),
    [
        ("s3://acme?adressing=path", "Unknown option 'adressing': expected one of endpoint, "),
        ("s3://acme?addressing=other", "addressing has an unknown value: expected one of auto, path, virtual"),
        ("s3://acme?encryption=s3cret", "encryption has an unknown value: expected one of AES256, aws:kms"),
        ("s3://acme?kms_key=s3cret", "kms_key needs encryption=aws:kms"),
        ("s3://acme?kms_key=s3cret&encryption=AES256", "kms_key needs encryption=aws:kms"),
        ("s3://acme?endpoint=s3cret:9000", "endpoint is not a server"),
        ("s3://acme?public_endpoint=https://key:s3cret@acme.example", "public_endpoint is not a server"),
        ("s3://key:s3cret@acme", "no user name or password"),
        ("azure://registry", "The option account is missing"),
        ("azure://registry?account=acme&key=s3cret", "Unknown option 'key': expected one of account, endpoint"),
        ("azure://acme:s3cret@registry?account=acme", "no user name or password"),
        ("gs://acme?credentials=s3cret", "Unknown option 'credentials': expected one of endpoint"),
    ],
)
def test_what_cannot_be_used_is_refused_without_a_secret(url, says):
    with pytest.raises(Invalid, match=says) as caught:
        check(url)

    assert "s3cret" not in f"{caught.value} {caught.value.hint}"
