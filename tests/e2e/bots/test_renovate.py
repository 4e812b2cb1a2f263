"""docs/recipes/update-bots.md: what Renovate asks, recorded, and what its configuration makes of the answers.

`renovate.json` has the requests of Renovate 44.121.2 with the configuration of the page, with its host rule alone, and
those of its update of a lock file. To record again: install it, and see `test_renovate_itself_finds_both_with_dates`.
"""

import base64
import hashlib
import io
import json
import os
import re
import subprocess
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.urls import resolve
from jsonata import Jsonata

from tests import documents
from tests.builders.line import a_line
from tests.e2e.bots.recorder import recorder, recording, replay
from tests.e2e.pages import HOST, Registry

pytestmark = [pytest.mark.live, pytest.mark.needs("curl")]
PAGE = "docs/recipes/update-bots.md"
SOURCES = {
    "modules": "https://github.com/acme/terraform-aws-vpc",
    "providers": "https://github.com/acme/terraform-provider-dns",
}
ADDRESSES = {"modules": "acme/vpc/aws", "providers": "acme/dns"}
DOWNLOAD = "/v1/providers/acme/dns/1.2.0/download/{}"
CONFIGURATION = """
module "vpc" {
  source  = "registry.example.com/acme/vpc/aws"
  version = "1.0.0"
}

terraform {
  required_providers {
    dns = {
      source  = "registry.example.com/acme/dns"
      version = "1.0.0"
    }
  }
}
"""


def configuration() -> dict[str, Any]:
    [fence] = [fence for fence in documents.fences(PAGE) if fence.language == "json"]
    found: dict[str, Any] = json.loads(fence.text)
    return found


@pytest.fixture(scope="module")
def described(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Registry:
    test = "tests/e2e/bots/test_renovate.py::test_a_publisher_says_where_the_repository_is"
    [fence] = documents.run_by(test, PAGE)
    work = tmp_path_factory.mktemp("described") / "work"
    work.mkdir()
    registry.type(work, fence.text, LARDER_TOKEN=registry.manage)
    return registry


@pytest.fixture(scope="module")
def answers(described: Registry) -> dict[str, httpx.Response]:
    return replay(described.larder, described.read, recording("renovate"))


def rules(kind: str) -> dict[str, Any]:
    """The package rule for `terraform-module` or `terraform-provider`."""
    wanted = f"terraform-{kind.removesuffix('s')}"
    [rule] = [rule for rule in configuration()["packageRules"] if rule["matchDatasources"] == [wanted]]
    return dict(rule)


def found_in(answers: dict[str, httpx.Response], kind: str) -> dict[str, Any]:
    """Return the releases that the custom datasource makes of the list that its rule names."""
    [url] = rules(kind)["registryUrls"]
    value = answers[url.replace("{{packageName}}", ADDRESSES[kind]).removeprefix(f"https://{HOST}")].json()
    for template in configuration()["customDatasources"]["larder"]["transformTemplates"]:
        value = Jsonata(template).evaluate(value)
    found: dict[str, Any] = value
    return found


def test_a_publisher_says_where_the_repository_is(described: Registry) -> None:
    with described.larder.client(described.read) as client:
        for kind, address in ADDRESSES.items():
            assert client.get(f"/api/v1/{kind}/{address}").json()["source"] == SOURCES[kind]


def test_what_renovate_asks_is_answered_and_private(described: Registry, answers: dict[str, httpx.Response]) -> None:
    assert answers["/v1/modules/acme/vpc/aws/versions"].json()["modules"][0]["source"] == SOURCES["modules"]
    for path in ("/v1/modules/acme/vpc/aws/versions", "/v1/providers/acme/dns/versions"):
        with described.larder.client() as client:
            assert client.get(path).status_code == 401


@pytest.mark.parametrize("kind", ADDRESSES)
def test_the_data_source_has_versions_dates_and_the_repository(answers: dict[str, httpx.Response], kind: str) -> None:
    found = found_in(answers, kind)

    assert [one["version"] for one in found["releases"]] == ["1.2.0", "1.0.0"]
    now = datetime.now(UTC)
    for one in found["releases"]:
        assert now - timedelta(hours=1) < datetime.fromisoformat(one["releaseTimestamp"]) < now
    assert found["sourceUrl"] == SOURCES[kind]


@pytest.mark.parametrize(
    "document",
    [
        {"modules": [{"source": "acme/vpc/aws", "versions": [{"version": "1.0.0", "published_at": "2026-01-01"}]}]},
        {"source": "", "versions": [{"version": "1.0.0", "published_at": "2026-01-01"}]},
    ],
    ids=["module", "provider"],
)
def test_a_single_version_without_a_repository_is_a_list_and_has_no_source(document: dict[str, Any]) -> None:
    value: Any = document
    for template in configuration()["customDatasources"]["larder"]["transformTemplates"]:
        value = Jsonata(template).evaluate(value)

    assert value["releases"] == [{"version": "1.0.0", "releaseTimestamp": "2026-01-01"}]
    assert "sourceUrl" not in value


def test_the_lock_file_gets_the_hashes_of_every_platform(
    described: Registry, answers: dict[str, httpx.Response]
) -> None:
    """Renovate fetches the sums and every zip by their links, which it does not resolve."""
    with described.larder.client(described.read) as client:
        packages = client.get("/api/v1/providers/acme/dns/1.2.0/details").json()["packages"]
    known = {package["filename"]: package["h1"] for package in packages}
    linux, darwin = (DOWNLOAD.format(platform) for platform in ("linux/amd64", "darwin/arm64"))
    sums = answers[f"<{linux}#shasums_url>"].text
    for path in (linux, darwin):
        document, zipped = answers[path].json(), answers[f"<{path}#download_url>"].content
        assert document["download_url"].startswith(f"https://{HOST}/archives/")
        assert document["shasums_url"].startswith(f"https://{HOST}/archives/")
        assert f"{hashlib.sha256(zipped).hexdigest()}  {document['filename']}\n" in sums
        assert h1(zipped) == known[document["filename"]]


def h1(zipped: bytes) -> str:
    """Return the hash like Renovate: of the digests of all files, in the order of their names."""
    with zipfile.ZipFile(io.BytesIO(zipped)) as archive:
        lines = [f"{hashlib.sha256(archive.read(name)).hexdigest()}  {name}\n" for name in sorted(archive.namelist())]
    return f"h1:{base64.b64encode(hashlib.sha256(''.join(lines).encode()).digest()).decode()}"


def test_one_rule_gives_every_data_source_the_token_and_none_else() -> None:
    [rule] = configuration()["hostRules"]

    assert set(rule) == {"matchHost", "token"}, "a hostType would leave the others without"
    assert rule["matchHost"] == f"https://{HOST}/"


@pytest.mark.parametrize("kind", ADDRESSES)
def test_the_changelog_is_a_page_of_larder(kind: str) -> None:
    url = rules(kind)["changelogUrl"].replace("{{packageName}}", ADDRESSES[kind]).replace("{{newVersion}}", "1.2.0")

    page = resolve(url.removeprefix(f"https://{HOST}"))
    assert page.view_name == f"portal:{kind.removesuffix('s')}-version"
    assert page.kwargs["version"] == "1.2.0"


@pytest.mark.nightly
@pytest.mark.needs("renovate", "git")
def test_renovate_itself_finds_both_with_dates(described: Registry, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(CONFIGURATION)
    (tmp_path / "renovate.json").write_text(json.dumps(configuration()))
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    with recorder(described.larder, described.read) as (heard, port), a_line({HOST: port}) as line:
        done = subprocess.run(
            ["renovate", "--platform=local"],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "HTTPS_PROXY": line.url,
                "NODE_EXTRA_CA_CERTS": str(described.larder.ca_bundle),
                "LOG_FORMAT": "json",
                "LOG_LEVEL": "debug",
                "RENOVATE_BASE_DIR": str(tmp_path / "base"),
                "RENOVATE_SECRETS": json.dumps({"LARDER_TOKEN": described.read}),
                "RENOVATE_X_IGNORE_RE2": "true",
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    assert done.returncode == 0, done.stdout[-4000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    [updates] = [line["config"] for line in lines if line["msg"] == "packageFiles with updates"]
    deps = {dep["datasource"]: dep for dep in updates["terraform"][0]["deps"]}
    for kind, datasource in (("modules", "terraform-module"), ("providers", "terraform-provider")):
        [update] = deps[datasource]["updates"]
        assert update["newVersion"] == "1.2.0"
        assert re.match(r"20\d\d-", update["releaseTimestamp"])
        assert deps[datasource]["sourceUrl"] == SOURCES[kind]
    known = {(one["method"], one["path"], one["status"]) for one in recording("renovate")}
    assert {(one["method"], one["path"], one["status"]) for one in heard.requests} <= known
