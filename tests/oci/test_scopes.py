"""A token of /v2/token is good for the scopes that it was granted, and for nothing else that its person may do."""

import pytest
from django.test import Client

from apps.oci import registry_tokens
from apps.oci.registry_tokens import Scopes
from tests.oci.conftest import MIRROR, basic
from tests.oci.test_challenge import HEAD, REQUESTS
from tests.oci.uploading import sha256
from tests.rows import for_each_row

NAME = "acme/vpc/aws"
ALL = ",".join(registry_tokens.ACTIONS)


@pytest.fixture
def granted(secret):
    """`granted("repository:acme/vpc/aws:pull")`: a client of Alice, who may do everything in acme."""

    def client(*scopes: str, of: str = secret) -> Client:
        query = "&".join(f"scope={scope}" for scope in scopes)
        answer = Client().get(f"/v2/token?{query}", headers={"Authorization": basic(of)} if of else {})
        return Client(headers={"Authorization": f"Bearer {answer.json()['token']}"})

    return client


def is_refused(answer, scope):
    """401 with the scope to ask for: clients ask again, with it."""
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == f'{HEAD},scope="{scope}",error="insufficient_scope"'
    return True


@for_each_row(("method", "path", "needed"), REQUESTS)
def test_each_request_needs_its_actions_on_its_repository(granted, acme, method, path, needed):
    others = ",".join(sorted({"pull", "push", "delete"} - {needed.split(",")[-1]}))
    wanted = f"repository:{NAME}:{needed}"

    for scope in (f"repository:{NAME}:{others}", f"repository:acme/dns/aws:{ALL}", "registry:catalog:*", ""):
        assert is_refused(granted(scope).generic(method, path), wanted), scope
    assert granted(f"repository:acme/dns/aws:{ALL}", wanted).generic(method, path).status_code != 401


@for_each_row("scope", ["", "registry:catalog:*", f"repository:acme/dns/aws:{ALL}", f"repository:{NAME}:pull"])
def test_any_token_comes_in(granted, acme, scope):
    assert granted(scope).get("/v2/").status_code == 200


def test_what_was_granted_gives_nobody_a_right(granted, acme, published):
    published(f"{NAME}", "1.2.0")
    nobody = granted(f"repository:{NAME}:{ALL}", of="")

    assert nobody.get(f"/v2/{NAME}/manifests/1.2.0").status_code == 404
    assert is_refused(nobody.post(f"/v2/{NAME}/blobs/uploads/"), f"repository:{NAME}:pull,push")


def test_the_names_of_another_repository_or_of_a_part_are_other_names(granted, acme, published):
    published(NAME, "1.2.0")
    for name in ("acme/vpc", "acme/vpc/aws/more", "acme/vpc/aws2", "acme/vp_c/aws", MIRROR):
        answer = granted(f"repository:{name}:{ALL}").get(f"/v2/{NAME}/manifests/1.2.0")
        assert is_refused(answer, f"repository:{NAME}:pull"), name


def test_a_provider_of_the_mirror_needs_its_own_scope(granted, pantry):
    assert is_refused(granted(f"repository:{NAME}:{ALL}").get(f"/v2/{MIRROR}/tags/list"), f"repository:{MIRROR}:pull")


def test_whether_a_blob_exists_is_asked_by_who_pushes(acme):
    """Case 15: oras for Python asks for one token, when it is first refused, and never for another."""
    answer = Client().head(f"/v2/{NAME}/blobs/{sha256(b'layer')}")

    assert answer.headers["WWW-Authenticate"] == f'{HEAD},scope="repository:{NAME}:{ALL}"'


def test_the_catalogue_needs_its_own_scope(granted, acme, published):
    published(NAME, "1.2.0")

    assert is_refused(granted(f"repository:{NAME}:{ALL}").get("/v2/_catalog"), "registry:catalog:*")
    assert granted("registry:catalog:*").get("/v2/_catalog").json() == {"repositories": [NAME]}


def test_a_blob_is_mounted_from_where_the_token_pulls(granted, uploader, pantry):
    digest = sha256(b"layer")
    uploader.push(b"layer")
    source, target = f"repository:{NAME}:pull", "repository:pantry/vpc/aws:pull,push"
    url = f"/v2/pantry/vpc/aws/blobs/uploads/?mount={digest}"

    assert granted(target).post(f"{url}&from={NAME}").status_code == 202
    assert granted(target).post(url).status_code == 202
    assert granted(target, source).post(f"{url}&from={NAME}").status_code == 201


def test_only_so_many_repositories_are_granted():
    asked = [f"repository:acme/{number}/aws:pull" for number in range(30)]

    assert str(Scopes.parse(asked)) == " ".join(asked[:20])
