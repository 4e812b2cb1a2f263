"""docs/behind-nginx.md: its configuration in a real nginx, with a certificate, before a Larder with its settings."""

import os
import re
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from registry_site.startup import certificates
from tests import documents
from tests.builders.archives import module_zip
from tests.builders.line import a_line
from tests.live import ADMIN_PASSWORD, CHECKOUT, Live, start_live
from tests.needs import needs
from tests.postgres import free_port

pytestmark = pytest.mark.live
PAGE, HOST = "docs/behind-nginx.md", "registry.example.com"
AROUND = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
{servers}
}}
"""


@dataclass
class Site:
    larder: Live
    proxy: str
    authority: Path
    plain_port: int

    def client(self, **headers: str) -> httpx.Client:
        tls = ssl.create_default_context(cafile=self.authority)
        return httpx.Client(base_url=f"https://{HOST}", proxy=self.proxy, verify=tls, headers=headers, timeout=30)


def settings() -> dict[str, str]:
    blocks = [fence.text for fence in documents.fences(PAGE) if fence.language == "ini"]
    return dict(line.split("=", 1) for block in blocks for line in block.splitlines() if line.startswith("LARDER_"))


def servers(larder: Live, tls: certificates.Served, secure: int, plain: int) -> str:
    """The file that the page copies, with the location of its last part, for these ports, files and folders."""
    [copy] = documents.run_by("tests/site/server/test_behind_nginx.py::site", PAGE)
    words = copy.text.replace("> /etc/nginx/conf.d/larder.conf", "")
    whole = subprocess.run(["sh", "-c", words], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    [location] = [fence.text for fence in documents.fences(PAGE) if fence.language == "nginx"]
    end = whole.rindex("}")
    text = f"{whole[:end]}\n{location}}}\n"
    for there, here in {
        "127.0.0.1:8080": larder.host,
        "/etc/nginx/tls/registry.pem": str(tls.certificate),
        "/etc/nginx/tls/registry.key": str(tls.key),
        "/srv/larder/": f"{larder.data_dir}/",
        "listen 443": f"listen 127.0.0.1:{secure}",
        "listen 80": f"listen 127.0.0.1:{plain}",
    }.items():
        assert there in text
        text = text.replace(there, here)
    return re.sub(r"^ *listen \[::\].*\n", "", text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
@needs("nginx")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder, secure, plain = tmp_path_factory.mktemp("nginx"), free_port(), free_port()
    kept = {name: value for name, value in settings().items() if name not in ("LARDER_DATA_DIR", "LARDER_LISTEN")}
    assert {"LARDER_TLS", "LARDER_PUBLIC_URL", "LARDER_TRUSTED_PROXIES", "LARDER_ACCEL_REDIRECT"} <= kept.keys()
    tls = certificates.served("auto", data_dir=folder, listen_host="127.0.0.1", public_url=f"https://{HOST}")
    assert tls is not None
    assert tls.bundle is not None
    with (
        start_live(folder / "larder", why="it has the settings of the page about nginx", **kept) as larder,
        a_line({HOST: secure}) as line,
    ):
        configuration = folder / "nginx.conf"
        configuration.write_text(AROUND.format(folder=folder, servers=servers(larder, tls, secure, plain)))
        process = subprocess.Popen(["nginx", "-p", str(folder), "-e", f"{folder}/error.log", "-c", configuration])
        site = Site(larder, line.url, tls.bundle, plain)
        try:
            wait_for(site, process, folder / "error.log")
            yield site
        finally:
            process.terminate()
            process.wait(timeout=10)


def wait_for(site: Site, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            with site.client() as client:
                if client.get("/healthz").status_code == 200:
                    return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail("nginx did not answer")


@pytest.mark.needs("curl")
def test_the_page_is_a_working_proxy(site: Site, tmp_path: Path) -> None:
    from_outside, on_the_host = documents.run_by(
        "tests/site/server/test_behind_nginx.py::test_the_page_is_a_working_proxy", PAGE
    )
    given = tmp_path / "larder.env"
    variables = {name: value for name, value in site.larder.environment.items() if name.startswith("LARDER_")}
    del variables["LARDER_ADMIN_PASSWORD"]  # has blanks, and is for the first start alone
    given.write_text("".join(f"{name}={value}\n" for name, value in variables.items()))

    def typed(text: str) -> str:
        trusted = {"CURL_CA_BUNDLE": str(site.authority), "SSL_CERT_FILE": str(site.authority)}
        done = subprocess.run(
            ["sh", "-u", "-c", text.replace("/etc/larder/larder.env", str(given))],
            cwd=CHECKOUT,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HTTPS_PROXY": site.proxy, **trusted},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return done.stdout

    said = typed(from_outside.text)
    assert '"modules.v1"' in said
    assert '"providers.v1"' in said
    assert '"status":"ok"' in said.replace(" ", "")
    assert said.endswith("404\n")
    told = typed(on_the_host.text)
    assert "System check identified" in told, told
    assert {name for name in re.findall(r"\((\S+\.W\d+)\)", told) if name not in documents.text_of(PAGE)} == set()
    assert re.findall(r"^fail .*", told, re.MULTILINE) == [f"fail  name: {HOST} has no address"]


def test_plain_http_leads_to_the_public_address(site: Site) -> None:
    answer = httpx.get(f"http://127.0.0.1:{site.plain_port}/modules?q=vpc", headers={"Host": HOST})
    assert (answer.status_code, answer.headers["Location"]) == (301, f"https://{HOST}/modules?q=vpc")


def test_a_request_has_one_id_in_both_logs_and_the_answer(site: Site) -> None:
    with site.client() as client:
        asked = client.get("/healthz", headers={"X-Request-Id": "pipeline-17"})
        own = client.get("/healthz", headers={"X-Request-Id": 'a"b'})
        answered_by_nginx = client.get("/metrics")

    assert asked.headers.get_list("x-request-id") == ["pipeline-17"]
    assert re.fullmatch(r"[0-9a-f]{32}", own.headers["x-request-id"])
    assert re.fullmatch(r"[0-9a-f]{32}", answered_by_nginx.headers["x-request-id"])


def test_people_sign_in(site: Site) -> None:
    with site.client() as client:
        page = client.get("/account/login/").text
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert found, page
        form = {"csrfmiddlewaretoken": found[1], "login": "admin", "password": ADMIN_PASSWORD}
        headers = {"Referer": f"https://{HOST}/account/login/", "Origin": f"https://{HOST}"}
        answer = client.post("/account/login/", data=form, headers=headers)
        assert answer.status_code == 302, answer.text
        assert all("secure" in cookie.lower() for cookie in answer.headers.get_list("set-cookie"))


def test_nginx_sends_the_archives_that_larder_allows(site: Site) -> None:
    data = module_zip({"main.tf": "", "noise.bin": os.urandom(200_000)})
    with site.client(Authorization=f"Bearer {site.larder.token()}") as client:
        client.put("/api/v1/namespaces/acme", json={"visibility": "private"}).raise_for_status()
        answer = client.put("/api/v1/modules/acme/vpc/aws/1.0.0", content=data)
        assert answer.status_code == 202, answer.text
        release = site.larder.wait_for(client, f"/api/v1/releases/{answer.json()['id']}")
        assert release["state"] == "published"
        place = client.get("/v1/modules/acme/vpc/aws/1.0.0/download").headers["X-Terraform-Get"].partition("?")[0]
        first, sent = client.get(place), client.get(place)
    assert first.content == data  # with which Larder reads and hashes the file once
    assert sent.content == data
    assert "x-request-id" not in sent.headers, "Larder sent it itself"
    with site.client() as stranger:
        assert stranger.get(f"/stored/sha256/{release['digest'][7:9]}/{release['digest'][7:]}").status_code == 404
        assert stranger.get("/v1/modules/acme/vpc/aws/1.0.0/download").status_code == 401
