"""Reads through nginx from a static copy, with real clients: while Larder is up, and while it is away."""

import json
import os
import signal
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.test import RequestFactory

from apps.contrib.copy.follower import fetching, serving, trusting
from apps.contrib.copy.settings_values import Follow
from registry_site.startup import certificates
from tests import documents, dumps, postgres
from tests.builders import static_nginx
from tests.builders.archives import module_zip
from tests.builders.keys import signing_key
from tests.builders.static_nginx import Nginx
from tests.e2e.providers import Depot
from tests.e2e.workspace import Workspace
from tests.live import Live, start_live
from tests.needs import CLIENTS, needs

pytestmark = pytest.mark.live
SECRET = "a secret of nginx and Larder, 32 characters long"
REVOKE = """
from apps.accounts.access.gate import NOBODY
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken
tokens.revoke(token=ApiToken.objects.latest("pk"), actor=NOBODY)
"""
PAGE = "docs/static-copy-edge.md"
FLUSHED = 2  # seconds until a line of the log is written
PRIVATE = "/v1/modules/shed/vpc/aws/1.0.0/download"


@dataclass
class Site:
    larder: Live
    nginx: Nginx
    authority: Path
    token: str

    def client(self, token: str = "") -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        tls = ssl.create_default_context(cafile=self.authority)
        return httpx.Client(base_url=self.nginx.url, verify=tls, headers=headers, timeout=30)

    def status(self, path: str, token: str = "") -> int:
        with self.client(token) as client:
            return client.get(path).status_code


@pytest.fixture(scope="module")
@needs("nginx")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(tmp_path_factory.mktemp("static")) as found:
        yield found


@contextmanager
def running(folder: Path, **parts: str) -> Iterator[Site]:
    """nginx before a Larder with these parts, which has written two modules and two providers into its copy."""
    (folder / "secret").write_text(SECRET)
    tls = certificates.served("auto", data_dir=folder, listen_host="127.0.0.1", public_url="https://127.0.0.1")
    assert tls is not None
    assert tls.bundle is not None
    variables = {
        "LARDER_TLS": "off",
        "LARDER_TRUSTED_PROXIES": "127.0.0.1",
        "LARDER_STATIC_COPY_URL": f"file://{folder}/copy",
        "LARDER_STATIC_COPY_SECRET_FILE": str(folder / "secret"),
        "LARDER_LIFETIMES": "static_copy_fresh_seconds=1",
        **parts,
    }
    with start_live(folder / "larder", why="it writes a static copy", **variables) as larder:
        token = larder.token()
        depot = Depot(larder, token, token, signing_key("ed25519"))
        for name, visibility in (("shed", "private"), ("yard", "public")):
            depot.namespace(name, visibility)
            depot.publish(f"{name}/dns", "1.0.0", platforms=["linux_amd64"])
            archive = module_zip({"main.tf": f'output "from" {{\n  value = "{name}"\n}}\n'})
            assert larder.publish(f"{name}/vpc/aws", "1.0.0", archive, token)["state"] == "published"
        wait_for(folder / "copy" / "private" / PRIVATE[1:], folder / "copy/private/v1/providers/shed/dns/versions")
        server = static_nginx.running(
            folder / "nginx",
            copy=folder / "copy",
            larder=larder.host,
            secret=SECRET,
            tls=(tls.certificate, tls.key),
        )
        with server as nginx:
            yield Site(larder, nginx, tls.bundle, larder.token("admin", "read"))


def wait_for(*files: Path) -> None:
    deadline = time.monotonic() + 60
    while not all(file.exists() for file in files):
        assert time.monotonic() < deadline, files
        time.sleep(0.1)


@pytest.fixture
def workspace(site: Site, tmp_path: Path) -> Callable[[str], Workspace]:
    return lambda program: workspace_of(site, tmp_path / program, program)


def workspace_of(site: Site, folder: Path, program: str) -> Workspace:
    trusted = {"SSL_CERT_FILE": str(site.authority)}
    found = Workspace(folder, program, site.larder, host=site.nginx.host, environment=trusted)
    found.credentials(site.token)
    found.module("public", "yard/vpc/aws", "1.0.0")
    found.module("private", "shed/vpc/aws", "1.0.0")
    sources = {name: {"source": f"{found.host}/{name}/dns"} for name in ("yard", "shed")}
    (found.work / "providers.tf.json").write_text(json.dumps({"terraform": {"required_providers": sources}}))
    return found


def assert_installs(workspace: Workspace) -> None:
    done = workspace.init()
    assert done.returncode == 0, done.stderr
    assert workspace.installed() == {"public": "1.0.0", "private": "1.0.0"}
    assert done.stdout.count("- Installed ") == 2
    assert "signed, key ID" in done.stdout


@pytest.mark.parametrize("program", CLIENTS)
def test_clients_install_from_the_copy_alone(site: Site, workspace: Callable[[str], Workspace], program: str) -> None:
    before = site.nginx.log.read_text().count("\n") if site.nginx.log.exists() else 0
    assert_installs(workspace(program))
    time.sleep(FLUSHED)
    lines = [json.loads(line) for line in site.nginx.log.read_text().splitlines()[before:]]
    read = {line["path"] for line in lines if line["status"] == "200"}
    assert {PRIVATE, PRIVATE.replace("shed", "yard")} <= read
    assert all("/download" in path for path in read)


def test_what_the_copy_may_not_give_larder_answers_itself(site: Site) -> None:
    with site.client() as anonymous, site.client("not a token") as charlie, site.larder.client() as direct:
        for client in (anonymous, charlie):
            answer, own = client.get(PRIVATE), direct.get(PRIVATE, headers=client.headers)
            assert (answer.status_code, answer.text) == (own.status_code, own.text)
        assert anonymous.get("/packages/modules/shed/vpc/aws/1.0.0.zip").status_code in (401, 404)
        assert anonymous.get("/v1/modules/search?q=vpc").status_code == 200
    with site.client(site.token) as bob:
        location = bob.get(PRIVATE).headers["X-Terraform-Get"]
        assert bob.get("/v1/modules/yard/../shed/vpc/aws/versions").status_code == 200
    assert site.status(location) == 200
    assert site.status(location.replace("/shed/", "/yard/")) != 200
    hash_, expiry = location.split("/")[2:4]
    assert site.status(location.replace(hash_, hash_[::-1])) != 200
    assert site.status(location.replace(expiry, str(int(expiry) + 1))) != 200
    assert site.status(location.replace("/packages/modules/shed", "/packages/modules/yard/../shed")) == 200


def test_a_download_counts_once(site: Site) -> None:
    with site.client(site.token) as bob:
        bob.get(PRIVATE, headers={"User-Agent": "OpenTofu/9.9.9"}).raise_for_status()
    time.sleep(FLUSHED)
    [typed] = documents.run_by("apps/contrib/copy/tests/edge/test_nginx.py::test_a_download_counts_once", PAGE)
    words = typed.text.replace("/var/log/nginx/larder-copy.log", str(site.nginx.log)).split()
    assert words[:2] == [".venv/bin/python", "manage.py"]
    assert " 0 downloads" not in site.larder.manage(*words[2:])
    assert f"{site.nginx.log}: 0 downloads, 0 other requests." in site.larder.manage(*words[2:])
    counted = "SELECT count(*) FROM releases_downloadcount WHERE client = 'OpenTofu 9.9.9'"
    assert site.larder.query(counted) == 1


def test_a_follower_takes_the_signed_tree_and_asks_who_may_read(site: Site, settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    settings.FOLLOW = Follow(url=site.larder.url, token=site.larder.token())
    deadline = time.monotonic() + 60
    while not trusting.read_state().get("complete_at"):  # a signing worker has to sign the manifest
        fetching.follow()
        assert time.monotonic() < deadline, trusting.read_state()
        time.sleep(0.2)
    follower = serving.Follower(lambda _: HttpResponse(status=500))

    def ask(path: str, token: str = "") -> HttpResponseBase:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return follower(RequestFactory().get(path, headers=headers))

    assert ask(PRIVATE.replace("shed", "yard")).status_code == 200
    assert [ask(PRIVATE).status_code, ask(PRIVATE, "no token").status_code] == [401, 401]
    with site.client() as anonymous:
        location = ask(PRIVATE, site.token)["X-Terraform-Get"]
        assert ask(location.partition("?")[0]).status_code == 200
        assert anonymous.get(location).status_code != 200  # a link of the follower opens nothing elsewhere


def test_a_revoked_token_ends_and_does_not_return_with_an_outage(
    site: Site, workspace: Callable[[str], Workspace]
) -> None:
    revoked, kept = site.larder.token("admin", "read"), site.token
    assert site.status(PRIVATE, revoked) == 200
    assert site.status(PRIVATE, kept) == 200
    site.larder.manage("shell", "-c", REVOKE)
    time.sleep(2.1)
    assert site.status(PRIVATE, revoked) == 401

    site.larder.process.send_signal(signal.SIGTERM)
    site.larder.process.wait(timeout=60)
    time.sleep(1.1)
    assert site.status(PRIVATE.replace("shed", "yard")) == 200
    assert site.status(PRIVATE, kept) == 200
    with site.client("never seen") as charlie:
        answer = charlie.get(PRIVATE)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "Larder is unavailable" in answer.text
    assert site.status(PRIVATE, revoked) != 200
    assert_installs(workspace("terraform"))

    time.sleep(FLUSHED)
    written = b"".join(file.read_bytes() for file in site.nginx.folder.rglob("*") if file.is_file())
    assert site.nginx.log.stat().st_size
    for secret in (kept, revoked, "never seen", "/p/"):
        assert secret.encode() not in written.replace(configuration(site), b""), secret
    assert any(kept.encode() in file.read_bytes() for file in site.nginx.remembered.rglob("*") if file.is_file())
    assert os.statvfs(site.nginx.remembered).f_fsid != os.statvfs(site.nginx.folder).f_fsid


@pytest.mark.nightly
@pytest.mark.needs("nginx", "postgres", "redis-server", "terraform")
def test_clients_install_while_postgresql_and_redis_are_stopped_beside_a_larder_that_runs(tmp_path: Path) -> None:
    """Larder answers 503 then, which nginx takes as it takes no answer."""
    database, port = postgres.Server(keeps_commits=True), postgres.free_port()
    redis = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""])
    postgres.wait(redis, port)
    at = f"redis://127.0.0.1:{port}"
    parts = {
        "LARDER_DATABASE_URL": dumps.fill(database.url),
        "LARDER_BROKER_URL": f"{at}/0",
        "LARDER_CACHE_URL": f"{at}/1",
    }
    try:
        with running(tmp_path, **parts) as site:
            assert site.status(PRIVATE, site.token) == 200
            redis.kill()
            database.kill()
            time.sleep(1.1)  # what nginx has remembered is old

            assert_installs(workspace_of(site, tmp_path / "terraform", "terraform"))
            assert site.status(PRIVATE, "never seen") in (401, 503)  # 401: Larder sees that it is no token
            assert site.larder.process.poll() is None
    finally:
        redis.kill()


def configuration(site: Site) -> bytes:
    return (site.nginx.folder / "nginx.conf").read_bytes()
