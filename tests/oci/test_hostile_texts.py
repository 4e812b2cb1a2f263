"""Texts that no database stores, and endless ones, in every parameter below /v2/: refused or without effect,
never an outage. PostgreSQL takes no NUL; half a surrogate pair can be written as bytes in an address.
"""

from itertools import cycle, product

import pytest

from tests.oci.manifests.documents import INDEX, digest_of, image
from tests.rows import for_each_row

pytestmark = pytest.mark.both

HOSTILE = {"NUL": "%00", "after a NUL": "x%00", "surrogate": "%ED%A0%80", "long": "x" * 100_000, "byte": "%FF"}
NOTHING = {"schemaVersion": 2, "mediaType": INDEX, "manifests": []}
ZEROS = "sha256:" + "0" * 64
NAME = "pantry/vpc/aws"


@pytest.fixture
def at(repo):
    """A repository with something of everything in it."""
    made = repo(NAME)
    made.push(image(), "main")
    return made


@for_each_row("digest", [ZEROS, digest_of(image())], ids=["unknown", "known"])
def test_nothing_attached_has_a_type_that_is_none(at, tofu, digest):
    asked = product(["{}", "text/{}", "text/plain{}", "text/plain;{}"], HOSTILE.items())
    for (type_of, (kind, text)), client in zip(asked, cycle((at.client, tofu(None))), strict=False):
        answer = client.get(f"/v2/{NAME}/referrers/{digest}?artifactType={type_of.format(text)}")
        assert (answer.status_code, answer.json()) == (200, NOTHING), kind
        assert answer.headers["OCI-Filters-Applied"] == "artifactType", kind
        assert "Link" not in answer.headers, kind


@for_each_row(
    ("path", "statuses"),
    [
        (f"{NAME}/referrers/{ZEROS}?last={{}}", (400,)),
        (f"{NAME}/referrers/{{}}", (400,)),
        (f"{NAME}/tags/list?last={{}}", (200,)),
        (f"{NAME}/tags/list?n={{}}", (400,)),
        (f"{NAME}/manifests/{{}}", (404,)),
        (f"{NAME}/manifests/sha256:{{}}", (400,)),
        (f"{NAME}/blobs/{{}}", (400,)),
        (f"{NAME}/blobs/uploads/{{}}", (404,)),
        ("pantry/{}/aws/manifests/main", (400,)),
        ("{}/vpc/aws/tags/list", (400,)),
        ("providers/{}/pantry/dns/tags/list", (400, 404)),
        ("providers/testserver/pantry/dns/manifests/{}", (404,)),
        ("_catalog?last={}", (200,)),
        ("_catalog?n={}", (400,)),
        ("token?scope={}", (200,)),
        ("token?service={}&account={}&client_id={}", (200,)),
        ("token?scope=repository:{}:pull", (200,)),
    ],
)
def test_reading_with_it_is_answered(at, path, statuses):
    for kind, text in HOSTILE.items():
        url = "/v2/" + path.replace("{}", text)

        assert at.client.get(url).status_code in statuses, kind
        assert at.client.head(url).status_code in {404 if status == 400 else status for status in statuses}, kind


@for_each_row(
    ("method", "path", "statuses"),
    [
        ("POST", "blobs/uploads/?mount={}", (400,)),
        ("POST", f"blobs/uploads/?mount={ZEROS}&from={{}}", (202,)),
        ("POST", "blobs/uploads/?digest={}", (400,)),
        ("PUT", "blobs/uploads/{}?digest={}", (404,)),
        ("PUT", f"manifests/{digest_of(image())}?tag={{}}", (400,)),
        ("PUT", "manifests/{}", (400,)),
        ("PUT", "manifests/sha256:{}", (400,)),
        ("DELETE", "blobs/{}", (400,)),
        ("DELETE", "manifests/{}", (404,)),
        ("DELETE", "blobs/uploads/{}", (404,)),
    ],
)
def test_writing_with_it_is_refused(at, method, path, statuses):
    for kind, text in HOSTILE.items():
        url = f"/v2/{NAME}/" + path.replace("{}", text)

        answer = at.client.generic(method, url, image(), content_type="application/vnd.oci.image.manifest.v1+json")

        assert answer.status_code in statuses, (kind, answer.content)
        assert at.get("main").content == image(), kind


def test_a_form_with_it_opens_nothing(db, tofu):
    for grant, (kind, text) in product(("refresh_token", "password"), HOSTILE.items()):
        body = f"grant_type={grant}&{grant}={text[:60_000]}&scope={text[:100]}"
        answer = tofu(None).post("/v2/token", body, content_type="application/x-www-form-urlencoded")
        assert answer.status_code == 401, kind
