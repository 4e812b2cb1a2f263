"""docs/demonstration.md: a whole Larder fills itself, is used by a real client, and takes nothing from anyone."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.contrib.demo.notice import READ_ONLY
from tests.live import Live, start_live

pytestmark = [pytest.mark.live, pytest.mark.needs("terraform", "gpg"), pytest.mark.timeout(600)]

CONFIGURATION = """
terraform {{
  required_providers {{
    inventory = {{
      source  = "{host}/acme/inventory"
      version = "~> 1.1"
    }}
  }}
}}

module "labels" {{
  source  = "{host}/acme/labels/null"
  version = "~> 1.0"
  team    = "payments"
  service = "orders"
}}

output "name" {{
  value = module.labels.name
}}
"""


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("demonstration")
    with start_live(folder, why="everyone reads it", module="acme/vpc/aws", LARDER_DEMO="on") as larder:
        deadline = time.monotonic() + 300
        while not larder.query("SELECT count(*) FROM modules_configuration"):
            assert time.monotonic() < deadline, larder.output.read_text()[-4000:]
            time.sleep(1)
        yield larder


def test_a_client_installs_a_module_and_a_signed_provider_without_a_token(demonstration: Live, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(CONFIGURATION.format(host=demonstration.host))
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "CHECKPOINT_DISABLE": "1"}

    done = subprocess.run(
        ["terraform", "init", "-input=false", "-no-color"],
        cwd=tmp_path,
        env=environment | {"SSL_CERT_FILE": str(demonstration.ca_bundle)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Downloading " in done.stdout
    assert "acme/inventory v1.2.0 (self-signed" in done.stdout


def test_a_large_upload_is_refused_and_leaves_nothing(demonstration: Live) -> None:
    with demonstration.client() as client:
        answer = client.put("/api/v1/modules/acme/large/aws/1.0.0", content=b"x" * 20_000_000)
        page = client.get("/modules/acme/vpc/aws")

    assert (answer.status_code, answer.json()["error"]["message"]) == (403, READ_ONLY)
    assert not demonstration.staged()
    assert READ_ONLY in page.text


def test_a_reset_during_a_download_does_not_break_it(demonstration: Live) -> None:
    path = "/v1/providers/acme/inventory/1.2.0/download/linux/amd64"
    with demonstration.client() as client:
        found = client.get(path).json()
        whole = client.get(found["download_url"]).content
        with client.stream("GET", found["download_url"]) as download:
            parts = download.iter_bytes(64)
            first = next(parts)
            demonstration.manage(
                "shell", "--no-imports", "-v", "0", "-c", "from apps.contrib.demo import tasks; tasks.reset()"
            )
            assert first + b"".join(parts) == whole
        assert client.get(path).json()["shasum"] == found["shasum"]
