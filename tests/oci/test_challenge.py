"""A refusal below /v2/ asks for exactly the scope that the request needs, and repeats no hostile name."""

import uuid

from django.conf import settings
from django.test import Client

from apps.accounts.models import Scope
from apps.oci import registry_tokens
from apps.oci.registry_tokens import Scopes
from tests.rows import for_each_row

NAME = "acme/vpc/aws"
DIGEST = "sha256:" + "0" * 64
HEAD = f'Bearer realm="{settings.PUBLIC_URL}/v2/token",service="{settings.PUBLIC_HOST}"'
REQUESTS = [
    ("GET", f"/v2/{NAME}/manifests/1.2.0", "pull"),
    ("HEAD", f"/v2/{NAME}/manifests/{DIGEST}", "pull"),
    ("GET", f"/v2/{NAME}/blobs/{DIGEST}", "pull"),
    ("GET", f"/v2/{NAME}/tags/list", "pull"),
    ("GET", f"/v2/{NAME}/referrers/{DIGEST}", "pull"),
    ("PUT", f"/v2/{NAME}/manifests/1.2.0", "pull,push"),
    ("POST", f"/v2/{NAME}/blobs/uploads/", "pull,push"),
    ("POST", f"/v2/{NAME}/blobs/uploads/?mount={DIGEST}&from=pantry/jam/local", "pull,push"),
    ("GET", f"/v2/{NAME}/blobs/uploads/{uuid.UUID(int=0)}", "pull,push"),
    ("PATCH", f"/v2/{NAME}/blobs/uploads/{uuid.UUID(int=0)}", "pull,push"),
    ("PUT", f"/v2/{NAME}/blobs/uploads/{uuid.UUID(int=0)}", "pull,push"),
    ("DELETE", f"/v2/{NAME}/manifests/1.2.0", "delete"),
    ("DELETE", f"/v2/{NAME}/blobs/{DIGEST}", "delete"),
]


def anonymous(*names):
    """A token without a person, for everything that clients do there."""
    return registry_tokens.issue(None, Scopes.parse(f"repository:{name}:*" for name in names))


def ask(method, path, token=""):
    return Client().generic(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})


@for_each_row(("method", "path", "actions"), REQUESTS)
@for_each_row("namespace", ["acme", "nowhere"])
def test_nobody_is_told_the_scope_to_ask_for(acme, namespace, method, path, actions):
    answer = ask(method, path.replace("acme", namespace))

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == f'{HEAD},scope="repository:{namespace}/vpc/aws:{actions}"'
    assert "Authorization" in answer.headers["Vary"]
    if method != "HEAD":
        assert answer.json()["errors"][0]["code"] == "UNAUTHORIZED"


@for_each_row("method", ["GET", "HEAD", "PUT", "POST", "DELETE"])
def test_a_token_of_nobody_reads_404_and_writes_401(acme, pantry, published, method):
    published("pantry/vpc/aws", "1.2.0")
    token = anonymous("acme/vpc/aws", "nowhere/vpc/aws", "pantry/vpc/aws")
    path = "blobs/uploads/" if method == "POST" else "manifests/1.2.0"

    for name in ("acme/vpc/aws", "nowhere/vpc/aws", "pantry/vpc/aws"):
        answer = ask(method, f"/v2/{name}/{path}", token)
        if method in ("GET", "HEAD"):
            assert answer.status_code == (200 if name.startswith("pantry") else 404), name
        else:
            assert answer.status_code == 401
            assert answer.headers["WWW-Authenticate"].endswith(',error="insufficient_scope"')


def test_hidden_and_missing_read_the_same_byte_for_byte(acme, published):
    published("acme/vpc/aws", "1.2.0")
    token = anonymous("acme/vpc/aws", "nowhere/vpc/aws")

    for path in ("manifests/1.2.0", "tags/list", f"blobs/{DIGEST}", f"referrers/{DIGEST}"):
        hidden = ask("GET", f"/v2/acme/vpc/aws/{path}", token)
        missing = ask("GET", f"/v2/nowhere/vpc/aws/{path}", token)
        assert hidden.status_code == missing.status_code == 404, path
        assert hidden.content.replace(b"acme", b"nowhere") == missing.content, path
        assert hidden.json()["errors"][0]["code"] == "NAME_UNKNOWN", path


def test_a_private_source_without_credentials_says_which_ones_count(acme, bob, bearer, published):
    published("acme/vpc/aws", "1.2.0")
    hidden = ask("GET", "/v2/acme/vpc/aws/manifests/1.2.0", anonymous(NAME)).json()["errors"][0]
    assert "oci_credentials" in hidden["message"]
    assert "docker login" in hidden["message"]

    missing = Client(headers=bearer(bob)).get("/v2/acme/none/aws/manifests/1.2.0").json()["errors"][0]
    assert "docker login" not in missing["message"]  # Bob has signed in


def test_who_reads_and_may_not_push_is_denied(acme, bob, bearer):
    answer = Client(headers=bearer(bob, Scope.MANAGE)).put("/v2/acme/vpc/aws/manifests/main")

    assert answer.status_code == 403
    assert answer.json()["errors"][0]["code"] == "DENIED"
    assert "WWW-Authenticate" not in answer.headers


@for_each_row(
    "name",
    [
        "acme/%22/aws",
        'acme/",error="x/aws',
        "acme/%0d%0aSet-Cookie:%20x=1/aws",
        "acme/%00/aws",
        "ACME/vpc/aws",
        "a" * 300,
    ],
)
@for_each_row("token", ["", "nonsense"])
def test_a_name_that_is_none_gets_into_no_header(acme, name, token):
    answer = ask("GET", f"/v2/{name}/manifests/main", token)

    assert answer.status_code in (400, 401, 404)
    assert answer.headers.get("WWW-Authenticate", HEAD) == HEAD
    assert "Set-Cookie" not in answer.headers
    assert not answer.cookies
