"""HEAD with curl, over HTTP/1.1 and HTTP/2: the headers of a GET and not one byte of a body."""

import subprocess

import pytest

from tests.needs import needs

pytestmark = pytest.mark.live

PATHS = {
    "release's manifest": ("/v2/acme/vpc/aws/manifests/1.2.0", 200),
    "list of tags": ("/v2/acme/vpc/aws/tags/list", 200),
    "no such manifest": ("/v2/acme/vpc/aws/manifests/none", 404),
    "no such blob": (f"/v2/acme/vpc/aws/blobs/sha256:{'0' * 64}", 404),
    "ping": ("/v2/", 200),
    "discovery": ("/.well-known/terraform.json", 200),
    "versions": ("/v1/modules/acme/vpc/aws/versions", 200),
    "stylesheet": ("/static/css/base.css", 200),
    "page": ("/account/login/", 200),
    "no such page": ("/no/such/page", 404),
    "health": ("/healthz", 200),
}


@pytest.fixture
@needs("curl")
def head(live, shelf, tmp_path):
    def ask(path: str, *flags: str) -> tuple[int, str, str]:
        """curl's exit code, the status, and the Content-Length."""
        token = f"Authorization: Bearer {shelf.manage}"
        done = subprocess.run(
            [
                "curl",
                *("--silent", "--show-error", "--cacert", str(live.ca_bundle), "-H", token, *flags),
                *("-o", str(tmp_path / "answer"), "-w", "%{http_code} %header{content-length}", live.url + path),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        status, _, length = done.stdout.partition(" ")
        return done.returncode, status, length

    return ask


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
@pytest.mark.parametrize("what", PATHS)
def test_a_head_ends_with_its_headers(head, what, version):
    path, status = PATHS[what]

    assert head(path, version, "--head")[:2] == (0, str(status))


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_it_has_the_length_of_a_get(live, shelf, head, version):
    with live.client(shelf.manage) as client:
        layer = client.get("/v2/acme/vpc/aws/manifests/1.2.0").json()["layers"][0]

    for path in ("/v2/acme/vpc/aws/manifests/1.2.0", f"/v2/acme/vpc/aws/blobs/{layer['digest']}"):
        code, status, length = head(path, version, "--head")
        assert (code, status, length) == head(path, version)
        assert int(length) > 0
