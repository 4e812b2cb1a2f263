"""The document that a registry gives for one platform: what it may say, and what is refused."""

import pytest

from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.records import documents
from tests.rows import for_each_row

URL = "https://registry.example/v1/providers/acme/tool/1.0.0/download/linux/amd64"
SAID = {
    "os": "linux",
    "arch": "amd64",
    "filename": "terraform-provider-tool_1.0.0_linux_amd64.zip",
    "shasum": "A1" * 32,
    "download_url": "files/tool.zip?signature=pears",
    "shasums_url": "https://cdn.example/SHA256SUMS",
    "shasums_signature_url": "/SHA256SUMS.sig",
    "signing_keys": {"gpg_public_keys": [{"ascii_armor": "-----BEGIN", "source": 3}]},
    "packages": {
        "linux_amd64": {"package_size": 7},
        "linux_arm64": {"package_size": 2**40},
        "x": {"package_size": True},
    },
}


def parse(**changes):
    return documents.parse(SAID | changes, url=URL, os="linux", arch="amd64")


def test_its_urls_may_be_relative_and_sizes_that_cannot_be_are_passed_over():
    found = parse()

    assert found.url == URL.rpartition("/")[0] + "/files/tool.zip?signature=pears"
    assert (found.sums_url, found.signature_url) == (
        "https://cdn.example/SHA256SUMS",
        "https://registry.example/SHA256SUMS.sig",
    )
    assert (found.shasum, found.sizes) == ("a1" * 32, {"linux_amd64": 7})
    assert [(key.armor, key.source) for key in found.keys] == [("-----BEGIN", "")]
    assert documents.shown(found.url).endswith("/files/tool.zip")
    assert parse(signing_keys=None, shasums_signature_url=None).signature_url == ""


@for_each_row(
    "said", [None, 7, [], "x", {"linux_amd64": 7}, {"linux_amd64": {"package_size": "7"}}, {"a": {"b": 1}}], ids=str
)
def test_sizes_of_another_form_are_none(said):
    assert parse(packages=said).sizes == {}


def test_a_key_may_name_its_source():
    keys = [{"ascii_armor": "a", "source": "Acme"}, {"ascii_armor": "b"}]
    assert [key.source for key in parse(signing_keys={"gpg_public_keys": keys}).keys] == ["Acme", ""]


@for_each_row(
    "name",
    [
        "../tool.zip",
        "/etc/passwd",
        "a/tool.zip",
        "a\\tool.zip",
        "..",
        ".tool.zip",
        "-rf.zip",
        "tool.zip\n",
        "tool .zip",
        "to\0ol.zip",
        "t\u00f6\u00f6l.zip",
        'tool".zip',
        "x" * 256,
    ],
)
def test_a_file_name_that_is_more_than_one_is_refused(name):
    with pytest.raises(FetchFailed, match="expected a plain file name") as refused:
        parse(filename=name)
    assert (refused.value.code, refused.value.is_final) == ("bad_shape", True)


@for_each_row(
    ("changes", "said"),
    [
        ({"os": "windows"}, "another platform"),
        ({"arch": "arm64"}, "another platform"),
        ({"filename": ""}, "no `filename`"),
        ({"filename": ["a.zip"]}, "no `filename`"),
        ({"shasum": "0" * 63}, "64 hex digits"),
        ({"shasum": "g" * 64}, "64 hex digits"),
        ({"download_url": None}, "no `download_url`"),
        ({"shasums_url": 3}, "no `shasums_url`"),
        ({"shasums_signature_url": ""}, "no `shasums_signature_url`"),
        ({"signing_keys": {"gpg_public_keys": {}}}, "not a list"),
        ({"signing_keys": {"gpg_public_keys": ["armor"]}}, "without `ascii_armor`"),
    ],
)
def test_a_document_of_another_shape_is_refused(changes, said):
    with pytest.raises(FetchFailed, match=said):
        parse(**changes)
    with pytest.raises(FetchFailed, match="expected an object"):
        documents.parse([SAID], url=URL, os="linux", arch="amd64")
