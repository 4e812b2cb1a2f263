"""GET /v1/providers/<namespace>/<type>/<version>/download/<os>/<arch>"""

import json
import re
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from apps.providers.models import ProviderVersion
from apps.signing.models import SigningKey
from tests.builders.keys import gpg_home, signing_key
from tests.protocol.providers import cast
from tests.rows import for_each_row

URL = "/v1/providers/acme/dns/1.2.0/download/linux/amd64"
PUBLIC_URL = URL.replace("acme", "pantry")
NOON = datetime(2026, 1, 2, 12, 3, 4, tzinfo=UTC)
LINKS = ("download_url", "shasums_url", "shasums_signature_url")


@pytest.fixture
def key(acme):
    return cast.frozen_key(acme, source="Acme", source_url="https://acme.example/keys")


@pytest.fixture
def dns(key):
    return cast.add_version(key, None, "dns", "1.2.0")


def document_of(response):
    assert response.status_code == 200, response.content
    return json.loads(response.content)


def keys_in(response) -> list[str]:
    return [one["key_id"] for one in document_of(response)["signing_keys"]["gpg_public_keys"]]


def test_a_public_download_answer_is_frozen(tofu, pantry, golden):
    cast.add_version(cast.frozen_key(pantry), None, "dns", "1.2.0")
    response = tofu().get(PUBLIC_URL)

    assert response.content == golden("providers_v1/download-public.json")
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "private, no-cache"


def test_a_private_download_answer_is_frozen(tofu, bob, dns, golden):
    client = tofu(bob)
    with time_machine.travel(NOON, tick=False):
        response = client.get(URL)

    assert response.content == golden("providers_v1/download-private.json")
    assert response.headers["Cache-Control"] == "no-store"


def test_links_are_absolute_for_the_public_host_as_renovate_does_not_resolve_them(tofu, bob, dns, settings):
    settings.PUBLIC_URL, settings.PUBLIC_HOST = "https://registry.example.com", "registry.example.com"
    settings.ALLOWED_HOSTS = ["registry.example.com", "tofu.example.com"]
    client = tofu(bob)

    bases = {"registry.example.com": "https://registry.example.com/archives/", "tofu.example.com": "/archives/"}
    for host, base in bases.items():
        found = document_of(client.get(URL, HTTP_HOST=host))
        assert [found[name][: len(base)] for name in LINKS] == [base] * len(LINKS), host


def test_m10_os_and_arch_are_echoed_and_protocols_equal_those_of_the_list(tofu, bob, dns):
    ProviderVersion.objects.update(protocols=["5.0", "6.7"])
    client = tofu(bob)
    listed = json.loads(client.get("/v1/providers/acme/dns/versions").content)["versions"][0]
    for platform in listed["platforms"]:
        found = document_of(client.get(URL.replace("linux/amd64", "{os}/{arch}".format(**platform))))

        assert {"os": found["os"], "arch": found["arch"]} == platform
        assert found["protocols"] == listed["protocols"] == ["5.0", "6.7"]
        assert len(found["shasum"]) == 64
        assert found["shasum"] == found["shasum"].lower()


def test_m8_the_sums_that_are_served_name_every_package_and_parse_strictly(dns, tofu, bob):
    links = document_of(tofu(bob).get(URL))
    text = Client().get(links["shasums_url"]).getvalue().decode()

    assert re.fullmatch(r"(?:[0-9a-f]{64}  [!-~]+\n)+", text), "clients crash on a blank line"
    lines = {name: digest for digest, name in (line.split("  ") for line in text.splitlines())}
    assert lines == {package.filename: package.digest for package in dns.packages.all()}
    assert lines[links["filename"]] == links["shasum"]


@pytest.mark.slow
@for_each_row("kind", ["ed25519", "rsa4096"])
def test_m9_the_served_signature_passes_gpgv_with_the_served_key_alone(tofu, bob, acme, tmp_path, kind):
    made = signing_key(kind)
    cast.add_version(cast.add_key(acme, made), made, "dns", "1.2.0")
    links = document_of(tofu(bob).get(URL))
    signature = Client().get(links["shasums_signature_url"]).getvalue()
    (served,) = links["signing_keys"]["gpg_public_keys"]

    assert served["trust_signature"] == ""
    assert served["ascii_armor"].count("-----BEGIN") == 1
    assert signature[0] & 0x80, "binary, not armoured"
    (tmp_path / "sums").write_bytes(Client().get(links["shasums_url"]).getvalue())
    (tmp_path / "sums.sig").write_bytes(signature)
    with gpg_home() as home:
        dearmored = subprocess.run(
            ["gpg", "--homedir", str(home), "--dearmor"],
            input=served["ascii_armor"].encode(),
            capture_output=True,
            check=True,
        )
        (tmp_path / "key.gpg").write_bytes(dearmored.stdout)
        command = ["gpgv", "--homedir", str(home), "--keyring", str(tmp_path / "key.gpg")]
        checked = subprocess.run(
            [*command, str(tmp_path / "sums.sig"), str(tmp_path / "sums")], capture_output=True, check=False
        )
    assert checked.returncode == 0, checked.stderr


@for_each_row("where", ["acme", "pantry"])
def test_m11_zip_sums_and_signature_need_no_token(tofu, bob, acme, pantry, where):
    namespace = acme if where == "acme" else pantry
    made = cast.add_version(cast.frozen_key(namespace), None, "dns", "1.2.0")
    links = document_of(tofu(bob).get(URL.replace("acme", where)))
    names = [links[name].rpartition("/")[2] for name in LINKS]

    assert names == [
        "terraform-provider-dns_1.2.0_linux_amd64.zip",
        "terraform-provider-dns_1.2.0_SHA256SUMS",
        "terraform-provider-dns_1.2.0_SHA256SUMS.sig",
    ]
    for name, digest in zip(LINKS, (links["shasum"], made.sums_digest, made.signature_digest), strict=True):
        assert f"/{digest}/" in links[name]
        assert links[name].startswith("/archives/"), "relative: clients resolve it (D22)"
        assert Client().head(links[name]).status_code == 200
        assert Client().get(links[name]).getvalue()


def test_n12_the_list_of_keys_holds_no_null_and_every_key_has_all_its_fields(tofu, bob, dns, acme):
    SigningKey.objects.create(namespace=acme, custody="registry", state="pending", algorithm="ed25519")
    found = document_of(tofu(bob).get(URL))["signing_keys"]["gpg_public_keys"]

    assert [sorted(one) for one in found] == [["ascii_armor", "key_id", "source", "source_url", "trust_signature"]]
    assert all(isinstance(value, str) for one in found for value in one.values())
    assert found[0]["key_id"] == found[0]["key_id"].upper()


def test_the_versions_own_key_comes_first_and_other_good_keys_of_its_custody_follow(tofu, bob, dns, acme):
    soon, past = timezone.now() + timedelta(days=1), timezone.now() - timedelta(days=1)
    cast.frozen_key(acme, "B", expires_at=soon)
    cast.frozen_key(acme, "C", state="retired")
    cast.frozen_key(acme, "D", expires_at=past)
    cast.frozen_key(acme, "E", custody="publisher")
    cast.frozen_key(acme, "F", state="revoked")

    assert keys_in(tofu(bob).get(URL)) == ["A" * 16, "B" * 16]


@for_each_row(
    ("end", "given"),
    [
        ({"state": "retired"}, "AB"),
        ({"expires_at": datetime(2020, 1, 1, tzinfo=UTC)}, "AB"),
        ({"state": "revoked"}, "B"),
    ],
)
def test_a_key_that_has_ended_still_verifies_what_it_signed_and_a_revoked_one_nothing(tofu, bob, dns, acme, end, given):
    """A lock file must survive a key rotation."""
    SigningKey.objects.update(**end)
    cast.frozen_key(acme, "B")

    assert keys_in(tofu(bob).get(URL)) == [letter * 16 for letter in given]


@for_each_row(
    ("version", "platform"),
    [
        ("1.2.1", "linux/amd64"),
        ("1.2", "linux/amd64"),
        ("v1.2.0", "linux/amd64"),
        ("1.2.0", "linux/arm64"),
        ("1.2.0", "Linux/amd64"),
        ("1.2.0", "darwin/amd64"),
    ],
)
def test_m14_an_unknown_version_or_platform_is_404(tofu, bob, dns, version, platform):
    response = tofu(bob).get(f"/v1/providers/acme/dns/{version}/download/{platform}")

    assert response.status_code == 404
    assert list(json.loads(response.content)) == ["errors"]


@for_each_row("is_on", [False, True])
@for_each_row("versions", [1, 8])
def test_m15_it_costs_three_queries(tofu, bob, dns, key, acme, settings, django_assert_num_queries, versions, is_on):
    for position in range(versions):
        cast.add_row(key, "dns", f"9.{position}.0", sums="a" * 64, signature="b" * 64)
        cast.frozen_key(acme, f"{position:040X}"[-1:] + "B", fingerprint=f"{position:040X}", key_id="B" * 16)
    settings.PROVIDER_PACKAGES = is_on
    client = tofu(bob)
    with django_assert_num_queries(3):  # token, gate, packages with keys
        assert client.get(URL).status_code == 200


def test_packages_are_there_by_a_setting_only_and_true_to_the_stored_files(tofu, bob, dns, settings):
    assert "packages" not in document_of(tofu(bob).get(URL))
    settings.PROVIDER_PACKAGES = True
    found = document_of(tofu(bob).get(URL))

    assert list(found["packages"]) == ["darwin_arm64", "linux_amd64"]
    for platform, entry in found["packages"].items():
        package = dns.packages.get(os=platform.split("_")[0])
        assert entry == {"hashes": [f"zh:{package.digest}", package.h1], "package_size": package.size}
    assert f"zh:{found['shasum']}" in found["packages"]["linux_amd64"]["hashes"]
