"""The test registry itself: right until it is told otherwise, so that other tests fail for their own reasons."""

import hashlib
import io
import ssl
import subprocess
import sys
import zipfile

import httpx
import pytest

from tests.builders.keys import gpg, gpg_home


def get(registry, path, method="GET", **headers):
    trusted = ssl.create_default_context(cadata=registry.ca or None)
    with httpx.Client(verify=trusted, timeout=5, trust_env=False) as client:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return client.request(method, registry.url + path, headers=named)


@pytest.mark.parametrize("way", ["registry", "tls_registry"])
def test_it_serves_whole_providers(way, request):
    registry = request.getfixturevalue(way)
    tool = registry.add_provider(versions=["1.0.0", "1.1.0-beta1+x"], platforms=["linux_amd64", "windows_arm64"])
    assert get(registry, "/.well-known/terraform.json").json()["providers.v1"] == "/v1/providers/"
    listed = get(registry, tool.list_path).json()["versions"]
    assert [entry["version"] for entry in listed] == ["1.0.0", "1.1.0-beta1+x"]
    assert {"os": "windows", "arch": "arm64"} in listed[0]["platforms"]

    told = get(registry, tool.document_path("1.1.0-beta1+x")).json()
    zipped = get(registry, told["download_url"].removeprefix(registry.url)).content
    sums = get(registry, told["shasums_url"].removeprefix(registry.url)).content
    signature = get(registry, told["shasums_signature_url"].removeprefix(registry.url)).content

    assert hashlib.sha256(zipped).hexdigest() == told["shasum"]
    assert f"{told['shasum']}  {told['filename']}\n".encode() in sums
    assert zipfile.ZipFile(io.BytesIO(zipped)).namelist() == ["terraform-provider-tool_v1.1.0-beta1+x"]
    assert registry.count(tool.zip_path("1.1.0-beta1+x")) == 1
    with gpg_home() as home:
        gpg(home, "--import", data=told["signing_keys"]["gpg_public_keys"][0]["ascii_armor"].encode())
        (home / "signature").write_bytes(signature)
        gpg(home, "--verify", str(home / "signature"), "-", data=sums)


def test_it_runs_as_a_process_too():
    command = [sys.executable, "-m", "tests.builders.misbehaving", "acme/tool", "1.0.0", "linux_amd64", "5000"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        answer = httpx.get(f"{url}/v1/providers/acme/tool/versions", trust_env=False)
        process.communicate()
    assert answer.json()["versions"][0]["version"] == "1.0.0"
    assert process.returncode == 0
