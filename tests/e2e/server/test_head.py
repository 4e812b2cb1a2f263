"""HEAD with curl, over HTTP/1.1 and HTTP/2: the headers of a GET and not one byte of a body."""

import pytest

from tests.e2e.curl import curl
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
    def ask(path: str, *flags: str) -> tuple[int, list[str]]:
        """curl's exit code, the status, and the Content-Length if there is one."""
        shown = "%{http_code} %header{content-length}"
        return curl(live, tmp_path / "answer", path, *flags, token=shelf.manage, shown=shown)

    return ask


VERSIONS = ("--http1.1", "--http2")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_head_ends_with_its_headers(head, version):
    for what, (path, status) in PATHS.items():
        code, (shown, *_) = head(path, version, "--head")
        assert (code, shown) == (0, str(status)), what


@pytest.mark.parametrize("version", VERSIONS)
def test_it_has_the_length_of_a_get(live, shelf, head, version):
    with live.client(shelf.manage) as client:
        layer = client.get("/v2/acme/vpc/aws/manifests/1.2.0").json()["layers"][0]

    for path in ("/v2/acme/vpc/aws/manifests/1.2.0", f"/v2/acme/vpc/aws/blobs/{layer['digest']}"):
        code, (status, length) = head(path, version, "--head")
        assert (code, [status, length]) == head(path, version)
        assert int(length) > 0
