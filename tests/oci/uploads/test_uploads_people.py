"""Whose an upload is, and what becomes of it when its opener's rights change."""

from datetime import timedelta

from django.test import Client
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Scope
from apps.artifacts.models import UploadSession
from apps.oci import registry_tokens
from tests.oci.manifests.documents import code_of
from tests.oci.uploading import Uploader, sha256
from tests.rows import for_each_row

DATA = b"a layer" * 100
PUSHES = registry_tokens.Scopes.parse(["repository:acme/vpc/aws:pull,push"])


def everything(uploader, url):
    """Each request that an upload takes."""
    yield uploader.client.get(url)
    yield uploader.patch(url, DATA)
    yield uploader.put(url, DATA, sha256(DATA))
    yield uploader.client.delete(url)


def test_an_upload_belongs_to_its_opener(uploader, uploader_of, dora, olga):
    url = uploader.begin()

    for somebody in (dora, olga):  # both may push there
        for response in everything(uploader_of(somebody), url):
            assert code_of(response) == (404, "BLOB_UPLOAD_UNKNOWN")
    assert uploader.put(url, DATA, sha256(DATA)).status_code == 201


def test_an_upload_of_one_repository_is_unknown_in_another(uploader, uploader_of, alice):
    number = uploader.begin().rpartition("/")[2]
    other = uploader_of(alice, name="pantry/vpc/aws")
    other.begin()

    for response in everything(other, f"/v2/pantry/vpc/aws/blobs/uploads/{number}"):
        assert code_of(response) == (404, "BLOB_UPLOAD_UNKNOWN")


def test_a_token_that_expires_meanwhile_is_renewed_and_the_upload_goes_on(alice, bearer, time_machine):
    """Case 14: the closing request is challenged; sent again with the next token, or with another one of the same
    person, it finishes the upload.
    """
    api_token, _ = tokens.issue(user=alice, label="ci", scope=Scope.PUBLISH, actor=Viewer(alice))
    time_machine.move_to(timezone.now())
    first = Uploader(Client(headers={"Authorization": f"Bearer {registry_tokens.issue(api_token.pk, PUSHES)}"}))
    urls = [first.begin(), first.begin()]
    assert [first.patch(url, DATA).status_code for url in urls] == [202, 202]

    time_machine.shift(registry_tokens.LIFETIME + timedelta(seconds=2))
    late = first.put(urls[0], b"", sha256(DATA))
    assert code_of(late) == (401, "UNAUTHORIZED")
    assert 'scope="repository:acme/vpc/aws:pull,push"' in late.headers["WWW-Authenticate"]
    renewed = {"Authorization": f"Bearer {registry_tokens.issue(api_token.pk, PUSHES)}"}
    for url, headers in zip(urls, (renewed, bearer(alice, Scope.PUBLISH)), strict=True):
        assert Uploader(Client(headers=headers)).put(url, b"", sha256(DATA)).status_code == 201


@for_each_row("by_service", [False, True], ids=["api-token", "registry-token"])
def test_a_token_that_is_revoked_meanwhile_finishes_nothing(alice, by_service):
    """Case 14."""
    token, secret = tokens.issue(user=alice, label="ci", scope=Scope.PUBLISH, actor=Viewer(alice))
    shown = registry_tokens.issue(token.pk, PUSHES) if by_service else secret
    uploader = Uploader(Client(headers={"Authorization": f"Bearer {shown}"}))
    url = uploader.begin()
    assert uploader.patch(url, DATA).status_code == 202

    tokens.revoke(token=ApiToken.objects.get(pk=token.pk), actor=Viewer(alice))
    response = uploader.put(url, b"", sha256(DATA))
    assert code_of(response) == (401, "UNAUTHORIZED")


@for_each_row("end", ["cancelled", "lapsed", "no right to push"])
def test_an_upload_ends_when_it_is_cancelled_or_lapses_or_its_opener_may_not_push_any_more(
    uploader, alice, stored_files, end
):
    url = uploader.begin()
    for chunk in (DATA, DATA):
        uploader.patch(url, chunk)
    if end == "cancelled":
        assert len(stored_files()) == 2
        assert uploader.client.delete(url).status_code == 204
        assert stored_files() == []
    elif end == "lapsed":
        UploadSession.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    else:
        Grant.objects.filter(user=alice).delete()

    assert {response.status_code for response in everything(uploader, url)} == {404}
