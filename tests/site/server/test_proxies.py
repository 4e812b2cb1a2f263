"""Behind a real nginx each client has its own address for limits, audit and access lines; strangers choose none."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import documents
from tests.builders.archives import module_zip
from tests.live import ADMIN_PASSWORD, CHECKOUT, Live, start_live
from tests.postgres import free_port

pytestmark = [pytest.mark.live, pytest.mark.needs("nginx")]

# Addresses of one machine's loopback network. nginx itself connects from 127.0.0.1, the only trusted one.
STRANGER, COLLEAGUE, EVADER = "127.0.0.2", "127.0.0.3", "127.0.0.4"
MOST_WRONG = 20  # by `sign_in` of LARDER_RATES, from one address

CONFIGURATION = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://{upstream};
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto https;
    }}
{stored}
  }}
}}
"""


@pytest.fixture(scope="module")
def larder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    variables = {
        "LARDER_TLS": "off",
        "LARDER_TRUSTED_PROXIES": "127.0.0.1",
        "LARDER_HSTS_SECONDS": "60",
        "LARDER_RATES": "sign_in=1/1000h",
        "LARDER_ACCEL_REDIRECT": "/stored",
    }
    with start_live(
        tmp_path_factory.mktemp("proxied"), why="it trusts a proxy, and locks out after one sign-in", **variables
    ) as live:
        yield live


def documented_location() -> str:
    """The location by which nginx sends stored files, as docs/configuration/address.md has it."""
    page = documents.text_of("docs/configuration/address.md")
    blocks = re.findall(r"```nginx\n(location /stored/ .*?)```", page, re.DOTALL)
    return str(blocks[0])


@pytest.fixture(scope="module")
def nginx(larder: Live, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    configuration = folder / "nginx.conf"
    stored = documented_location().replace("/data/blobs/", f"{larder.data_dir}/blobs/")
    configuration.write_text(CONFIGURATION.format(folder=folder, port=port, upstream=larder.host, stored=stored))
    process = subprocess.Popen(["nginx", "-p", str(folder), "-e", f"{folder}/error.log", "-c", configuration])
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=10)


def wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        assert process.poll() is None
        try:
            if httpx.get(f"{url}/healthz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail("nginx did not answer")


def browser(url: str, address: str, **headers: str) -> httpx.Client:
    return httpx.Client(base_url=url, transport=httpx.HTTPTransport(local_address=address), headers=headers, timeout=30)


def sign_in(client: httpx.Client, name: str, password: str, **headers: str) -> httpx.Response:
    page = client.get("/account/login/").text
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found, page
    form = {"csrfmiddlewaretoken": found[1], "login": name, "password": password}
    # nginx says https, and Django wants a referrer of the same site then.
    referrer = str(client.base_url).replace("http:", "https:")
    return client.post("/account/login/", data=form, headers={"Referer": referrer, **headers})


def is_limited(answer: httpx.Response) -> bool:
    return answer.status_code == 429


def use_up(client: httpx.Client, **headers: Any) -> None:
    """Try names that nobody has, so that the limit on one name plays no part."""
    for number in range(MOST_WRONG):
        assert not is_limited(sign_in(client, f"nobody-{number}", "wrong", **headers))


def test_wrong_passwords_of_one_stranger_lock_nobody_else_out(larder: Live, nginx: str) -> None:
    with browser(nginx, STRANGER) as stranger, browser(nginx, COLLEAGUE) as colleague:
        use_up(stranger)
        assert is_limited(sign_in(stranger, "admin", ADMIN_PASSWORD)), "the limit holds for the stranger"
        # An address of its own invention does not free it: nginx appends the true one.
        forged = {"X-Forwarded-For": "203.0.113.9"}
        assert is_limited(sign_in(stranger, "admin", ADMIN_PASSWORD, **forged))

        assert sign_in(colleague, "admin", ADMIN_PASSWORD).status_code == 302

    lines = larder.output.read_text()
    assert f'"client": "{COLLEAGUE}"' in lines, "the access line names the client"
    assert '"client": "203.0.113.9"' not in lines
    code = (
        "from apps.audit.models import AuditEvent as A; "
        "print(A.objects.filter(kind='account:user:signed-in').latest('pk').address)"
    )
    assert larder.manage("shell", "-v", "0", "-c", code).split() == [COLLEAGUE]


def test_an_untrusted_peer_evades_no_limit_by_naming_other_addresses(larder: Live) -> None:
    with browser(larder.url, EVADER) as evader:
        for number in range(MOST_WRONG):
            headers = {"X-Forwarded-For": f"203.0.113.{number}", "X_Forwarded_For": f"203.0.113.{number}"}
            sign_in(evader, f"nobody-{number}", "wrong", **headers)

        assert is_limited(sign_in(evader, "admin", ADMIN_PASSWORD, **{"X-Forwarded-For": "203.0.113.99"}))


def is_https(url: str, address: str, **headers: str) -> bool:
    with browser(url, address) as client:
        return "Strict-Transport-Security" in client.get("/account/login/", headers=headers).headers


def test_a_trusted_proxy_alone_says_that_a_request_came_over_tls(larder: Live, nginx: str) -> None:
    assert is_https(nginx, COLLEAGUE)
    assert is_https(larder.url, "127.0.0.1", **{"X-Forwarded-Proto": "https"})
    assert not is_https(larder.url, "127.0.0.1")
    assert not is_https(larder.url, COLLEAGUE, **{"X-Forwarded-Proto": "https"})


@pytest.mark.parametrize("name", ["X_Forwarded_Proto", "x_forwarded-proto", "X-Forwarded_Proto"])
def test_a_header_with_an_underscore_counts_for_nothing(larder: Live, name: str) -> None:
    assert not is_https(larder.url, "127.0.0.1", **{name: "https"})


def test_a_plain_wsgi_server_behind_a_proxy_decides_in_the_same_way(larder: Live, tmp_path: Path) -> None:
    """registry_site/wsgi.py decides, so any WSGI server behind a proxy has it: here the standard library's."""
    port = free_port()
    code = (
        "from wsgiref.simple_server import make_server\n"
        "from registry_site.wsgi import application\n"
        f"make_server('127.0.0.1', {port}, application).serve_forever()\n"
    )
    output = tmp_path / "output.txt"
    with output.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=CHECKOUT, env=larder.environment, stdout=sink, stderr=subprocess.STDOUT
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url, process)
        assert is_https(url, "127.0.0.1", **{"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"})
        assert not is_https(url, EVADER, **{"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.8"})
    finally:
        process.terminate()
        process.wait(timeout=10)
    lines = output.read_text()
    assert '"client": "203.0.113.7"' in lines
    assert f'"client": "{EVADER}"' in lines
    assert "203.0.113.8" not in lines


KEPT = ("content-type", "content-length", "etag", "cache-control", "content-disposition", "docker-content-digest")


def answer_of(url: str, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Guarantees for clients, whatever server sends the bytes."""
    with browser(url, COLLEAGUE) as client:
        answer = client.request(method, path, headers=headers | {"Accept-Encoding": "identity"})
    return answer.status_code, {name: answer.headers.get(name, "") for name in KEPT}, answer.content


def test_nginx_sends_stored_files_as_larder_does(larder: Live, nginx: str) -> None:
    token = larder.token()
    larder.publish("demo/sent/local", "1.0.0", module_zip(), token)
    larder.publish("closed/sent/local", "1.0.0", module_zip(comment=b"closed"), closed(larder, token))
    bearer = {"Authorization": f"Bearer {token}"}
    for namespace, credentials in (("demo", {}), ("closed", bearer)):
        with larder.client(token) as client:
            found = client.get(f"/v1/modules/{namespace}/sent/local/1.0.0/download").json()["location"]
        archive, digest = found.partition("?")[0], found.rpartition(":")[2]
        for path in (archive, f"/v2/{namespace}/sent/local/blobs/sha256:{digest}"):
            whole = answer_of(larder.url, path, **credentials)
            assert whole[0] == 200
            file = larder.data_dir / "blobs" / "sha256" / digest[:2] / digest
            assert answer_of(larder.url, path, **credentials) == whole, "now by the server, without a thread"
            assert answer_of(nginx, path, **credentials) == whole
            assert is_sent_by_nginx(nginx, path, **credentials)
            etag = whole[1]["etag"]
            for headers in (
                {"Range": "bytes=5-9"},
                {"Range": "bytes=5-9", "If-Range": etag},
                {"Range": "bytes=5-9", "If-Range": '"other"'},
                {"Range": "bytes=1-2,5-6"},
                {"If-None-Match": etag},
                {"If-Match": etag},
                {"If-Unmodified-Since": "Thu, 01 Jan 1998 00:00:00 GMT"},
            ):
                sent = {**headers, **credentials}
                assert answer_of(nginx, path, **sent) == answer_of(larder.url, path, **sent), headers
            assert answer_of(nginx, path, "HEAD", **credentials) == answer_of(larder.url, path, "HEAD", **credentials)
    assert answer_of(nginx, f"/stored/sha256/{digest[:2]}/{digest}")[0] == 404, "nobody asks for a file by its place"
    assert answer_of(nginx, f"/v2/closed/sent/local/blobs/sha256:{digest}")[0] == 401
    damaged = bytearray(file.read_bytes())
    damaged[-1] ^= 1
    file.chmod(0o600)
    file.write_bytes(damaged)
    assert answer_of(nginx, path, **bearer)[0] == 503


def closed(larder: Live, token: str) -> str:
    with larder.client(token) as client:
        assert client.put("/api/v1/namespaces/closed", json={"visibility": "private"}).status_code in (200, 201)
    return token


def is_sent_by_nginx(url: str, path: str, **headers: str) -> bool:
    """Larder's own answers have the id of the request; the documented location does not pass it on."""
    with httpx.stream("GET", url + path, headers=headers) as answer:
        return "x-request-id" not in answer.headers


def test_a_peer_that_is_no_proxy_is_sent_no_place(larder: Live) -> None:
    with browser(larder.url, EVADER) as client:
        found = client.get("/v1/modules/demo/hello/local/1.0.0/download").json()["location"]
        for _ in range(2):
            answer = client.get(found.partition("?")[0])
            assert answer.content
            assert "x-accel-redirect" not in answer.headers
