"""A bucket alone. The CDN before it, here nginx, passes on what the bucket has, and knows nothing of Larder."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from apps.lib.settings_values.storage_urls import S3Address
from tests import documents, s3
from tests.e2e.providers import Depot
from tests.e2e.workspace import Workspace
from tests.live import CHECKOUT, Live
from tests.needs import CLIENTS, needs
from tests.postgres import free_port

pytestmark = pytest.mark.live
PAGE = "docs/static-copy-edge.md"
CDN = """
{user} daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  ssl_certificate {tls}/server.pem; ssl_certificate_key {tls}/server.key;
  map $uri $archive {{ "{rule}" /packages/modules/$1.zip; }}
  server {{ listen 127.0.0.1:{plain} ssl; location / {{ proxy_pass {bucket}/public/; }} }}
  server {{
    listen 127.0.0.1:{ruled} ssl;
    location / {{ proxy_pass {bucket}/public/; add_header X-Terraform-Get $archive; }}
  }}
}}
"""


@dataclass
class Cdn:
    """Two hosts before one bucket: without any rule, and with the one for Terraform's modules."""

    plain: str
    ruled: str


@pytest.fixture(scope="module")
@needs("nginx")
def cdn(live: Live, depot: Depot, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cdn]:
    folder, plain, ruled = tmp_path_factory.mktemp("cdn"), free_port(), free_port()
    with s3.running() as server:
        url = server.url("copies")
        subprocess.run(
            [sys.executable, "manage.py", "static_copy", "--to", url],
            cwd=CHECKOUT,
            env={**live.environment, **s3.KEYS},
            check=True,
        )
        address = S3Address.parse(url)
        allow_reading(address)
        configuration = folder / "nginx.conf"
        configuration.write_text(
            CDN.format(
                user="user root;" if os.geteuid() == 0 else "",
                folder=folder,
                tls=live.data_dir / "tls",
                rule="~^/v1/modules/([^/]+/[^/]+/[^/]+/[^/]+)/download$",
                bucket=f"http://127.0.0.1:{server.port}/{address.bucket}/{address.prefix}",
                plain=plain,
                ruled=ruled,
            )
        )
        process = subprocess.Popen(["nginx", "-p", str(folder), "-e", f"{folder}/error.log", "-c", str(configuration)])
        try:
            deadline = time.monotonic() + 20
            while not answers(f"https://127.0.0.1:{plain}/"):
                assert time.monotonic() < deadline, (folder / "error.log").read_text()
                time.sleep(0.05)
            yield Cdn(f"127.0.0.1:{plain}", f"127.0.0.1:{ruled}")
        finally:
            process.terminate()
            process.wait(timeout=10)


def allow_reading(address: S3Address) -> None:
    """Let anyone read what is public, as the page says."""
    policies = [json.loads(fence.text) for fence in documents.fences(PAGE) if fence.language == "json"]
    [policy] = [one for one in policies if [said["Principal"] for said in one["Statement"]] == ["*"]]
    [statement] = policy["Statement"]
    statement["Resource"] = f"arn:aws:s3:::{address.bucket}/{address.prefix}/public/*"
    s3.put_policy(address, policy)


def answers(url: str) -> bool:
    try:
        httpx.get(url, verify=False)  # noqa: S501  # it is our own
    except httpx.TransportError:
        return False
    return True


@pytest.mark.parametrize("program", CLIENTS)
def test_a_bucket_serves_all_but_the_modules_of_terraform_without_a_rule(
    live: Live, cdn: Cdn, tmp_path: Path, program: str
) -> None:
    def init(host: str, name: str, *, module: bool) -> "subprocess.CompletedProcess[str]":
        workspace = Workspace(tmp_path / name, program, live, host=host)
        if module:
            workspace.module("hello", "demo/hello/local")
        else:
            sources = {"dns": {"source": f"{host}/yard/dns"}}
            (workspace.work / "main.tf.json").write_text(json.dumps({"terraform": {"required_providers": sources}}))
        return workspace.init()

    provider = init(cdn.plain, "provider", module=False)
    assert provider.returncode == 0, provider.stderr
    assert "signed, key ID" in provider.stdout
    bare = init(cdn.plain, "bare", module=True)
    assert (bare.returncode == 0) is (program == "tofu"), bare.stderr
    ruled = init(cdn.ruled, "ruled", module=True)
    assert ruled.returncode == 0, ruled.stderr


def test_a_bucket_has_nothing_private_where_anyone_may_read(live: Live, cdn: Cdn) -> None:
    with httpx.Client(base_url=f"https://{cdn.plain}", verify=live.tls) as charlie:
        assert charlie.get("/v1/providers/yard/dns/versions").status_code == 200
        assert charlie.get("/v1/providers/shed/dns/versions").status_code in (403, 404)
        discovery = charlie.get("/.well-known/terraform.json")
        assert charlie.get("/../private/v1/providers/shed/dns/versions").status_code in (400, 403, 404)
    assert discovery.headers["Content-Type"] == "application/json"
