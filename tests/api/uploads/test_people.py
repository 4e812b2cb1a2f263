"""Whose an upload is, how long it waits, and how much room it takes."""

import hashlib
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import Grant, Namespace, Scope
from apps.releases.models import Release, State, Upload
from apps.releases.publishing import drafting, resuming, sweeping
from tests.api.uploads.conftest import ARCHIVE, HALF, VERSION, Sender, error_of

pytestmark = pytest.mark.django_db


def test_a_stranger_never_sees_an_upload_and_neither_does_a_colleague(tofu, url, charlie, bob, dora, olga):
    never = f"/api/v1/uploads/{uuid.uuid4()}"
    for person in (charlie, bob, dora, olga):
        other = Sender(tofu(person))
        hidden = [other.client.get(url), other.patch(url, 0, ARCHIVE), other.client.delete(url)]
        missing = [other.client.get(never), other.patch(never, 0, ARCHIVE), other.client.delete(never)]
        assert [(one.status_code, one.content) for one in hidden] == [(one.status_code, one.content) for one in missing]
        assert {one.status_code for one in hidden} == {404}
    assert Sender(tofu(None)).client.get(url).status_code == 401
    assert Upload.objects.get().size == 0


def test_a_role_that_ended_meanwhile_ends_the_upload(sender, url, alice):
    sender.patch(url, 0, ARCHIVE[:HALF])
    Grant.objects.filter(user=alice).delete()

    assert sender.patch(url, HALF, ARCHIVE[HALF:]).status_code == 404
    assert Release.objects.get().state == State.RECEIVING
    sweeping.sweep()
    assert (Release.objects.get().state, Upload.objects.count()) == (State.REJECTED, 0)


def test_another_token_of_the_same_person_continues_and_one_that_may_only_read_does_not(tofu, alice, sender, url):
    assert Sender(tofu(alice, Scope.READ)).patch(url, 0, ARCHIVE[:HALF]).status_code == 403
    assert Sender(tofu(alice)).patch(url, 0, ARCHIVE[:HALF]).status_code == 204


def test_a_second_beginning_replaces_the_first_and_frees_its_bytes(sender, url, stored_files):
    sender.patch(url, 0, ARCHIVE[:HALF])
    second = sender.begin()
    sweeping.sweep()

    assert second.status_code == 201
    assert sender.client.head(url).status_code == 404
    assert not stored_files()
    assert sender.patch(second.headers["Location"], 0, ARCHIVE).status_code == 204


def test_a_number_that_is_taken_is_refused_before_the_first_byte_with_the_digest_that_won(sender, url, upload):
    assert upload(sender.client, VERSION, ARCHIVE).status_code == 202
    assert sender.client.head(url).status_code == 404, "one request replaces an unfinished upload"
    answer = sender.begin()

    assert answer.status_code == 409
    assert hashlib.sha256(ARCHIVE).hexdigest() in error_of(answer)["message"]


def test_it_expires_and_its_bytes_go(sender, url, stored_files):
    sender.patch(url, 0, ARCHIVE[:HALF])
    row = Upload.objects.get()
    assert timedelta(0) < row.expires_at - timezone.now() <= drafting.IDLE
    past = timezone.now() - timedelta(seconds=1)
    Upload.objects.update(expires_at=past)
    Release.objects.update(receiving_until=past)

    assert sender.client.head(url).status_code == 404
    assert sender.patch(url, HALF, ARCHIVE[HALF:]).status_code == 404
    sweeping.sweep()
    assert (Release.objects.get().state, Upload.objects.count(), stored_files()) == (State.REJECTED, 0, [])


def test_it_is_cancelled_and_its_number_free(sender, url, stored_files):
    sender.patch(url, 0, ARCHIVE[:HALF])

    assert sender.client.delete(url).status_code == 204
    assert [sender.client.delete(url).status_code, sender.client.head(url).status_code] == [404, 404]
    assert (Release.objects.get().state, stored_files()) == (State.REJECTED, [])
    assert sender.begin().status_code == 201


def test_the_room_for_it_is_taken_when_it_begins_and_nobody_has_more_than_a_draft_may_have_files(
    sender, acme, monkeypatch
):
    other = VERSION.replace("1.2.0", "1.3.0") + "/uploads"
    Namespace.objects.filter(pk=acme.pk).update(quota_bytes=len(ARCHIVE) + 10)
    first, second = sender.begin(), sender.begin(other)
    assert (first.status_code, second.status_code) == (201, 413)
    assert error_of(second)["code"] == "too_large"

    Namespace.objects.filter(pk=acme.pk).update(quota_bytes=None)
    monkeypatch.setattr(resuming, "MAX_UPLOADS", 1)
    many = sender.begin(other)
    assert (many.status_code, error_of(many)["code"]) == (429, "too_many_uploads")
    assert Release.objects.filter(state=State.RECEIVING).count() == 1
    assert sender.patch(first.headers["Location"], 0, ARCHIVE).status_code == 204
