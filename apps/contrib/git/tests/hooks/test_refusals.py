"""POST /api/v1/git-hooks/<id>: what is not genuine, not new, or not of the repository is refused, and logged."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone
from structlog.testing import capture_logs

from apps.accounts.models import Namespace
from apps.contrib.git import hooks, syncing
from apps.contrib.git.models import Delivery
from apps.contrib.git.tests.hooks.sending import Hook, connected, send
from apps.lib.errors import Conflict
from apps.lib.settings_values.rates import Rate
from tests.rows import for_each_row

OF_EACH = [
    "github_push_tag",
    "gitlab_tag_push",
    "gitea_push_tag",
    "forgejo_push_tag",
    "bitbucket_push_tag",
    "azure_push_tag",
]


def refused(repository, hook, status, reason):
    """Send it; it changes nothing and is logged. Return the error's text and hint."""
    with capture_logs() as logs:
        answer = send(repository, hook)
    assert answer.status_code == status, answer.content
    assert [line["reason"] for line in logs if line["event"] == "git_hook_refused"] == [reason]
    repository.refresh_from_db()
    assert repository.hooked_at is None
    error = answer.json()["error"]
    return f"{error['message']} {error.get('hint', '')}"


@for_each_row("name", OF_EACH)
def test_an_unsigned_one_is_refused(acme, listened, name):
    hook = Hook.recorded(name)

    text = refused(connected(acme, hook), hook, 401, "unsigned")

    assert "not signed" in text
    assert "secret" in text
    assert listened == []


@for_each_row("name", OF_EACH)
def test_a_forged_one_and_a_signature_of_another_body_are_refused(acme, listened, name):
    hook = Hook.recorded(name)
    repository = connected(acme, hook)

    refused(repository, hook.signed("whsec_b3RoZXI="), 401, "wrong_signature")
    if hook.forge not in ("gitlab", "azure"):  # these send the secret itself
        refused(repository, replace(hook.signed(), body=hook.body + b" "), 401, "wrong_signature")
    assert listened == []


@for_each_row("forge", ["github", "gitlab", "gitea", "bitbucket", "azure", "git"])
def test_at_a_plain_server_a_wrong_signature_is_not_called_a_missing_one(acme, listened, forge):
    """Its host says nothing of the product behind it."""
    url = "https://git.acme.example/vpc.git"
    repository = connected(acme, Hook(url, "git", {}, b""))
    hook = Hook(url, forge, {"Content-Type": "application/json"}, b"{}")

    text = refused(repository, hook.signed("whsec_b3RoZXI="), 401, "wrong_signature")

    assert "signature of the webhook is wrong" in text
    assert listened == []


def test_sha_1_is_not_enough_and_a_wrong_signature_of_forgejo_is_not_saved_by_the_one_of_gitea(acme, listened):
    hook = Hook.recorded("github_push_tag")
    only = {name: text for name, text in hook.signed().headers.items() if name != "X-Hub-Signature-256"}
    refused(connected(acme, hook), replace(hook, headers=only), 401, "unsigned")

    hook = Hook.recorded("forgejo_push_tag").signed().with_headers(X_Forgejo_Signature="0" * 64)
    refused(connected(acme, hook), hook, 401, "wrong_signature")


@for_each_row("age", [-7200, 7200])
def test_a_signed_time_of_another_hour_is_refused(acme, listened, age):
    hook = Hook.recorded("gitlab_tag_push").signed_as_standard_webhooks(age=age)

    refused(connected(acme, hook), hook, 401, "wrong_signature")


@for_each_row("at", ["", "x", "-1", "1e9", "9" * 30, "9" * 5000, "१२"])
def test_a_signed_time_that_is_none_is_refused(acme, listened, at):
    hook = Hook.recorded("gitlab_tag_push").signed_as_standard_webhooks().with_headers(webhook_timestamp=at)

    refused(connected(acme, hook), hook, 401, "wrong_signature")


@for_each_row("text", ["Basic", "Basic !", "Basic YW55", "Bearer", "Digest x", "Basic /w==", "é"])
def test_an_authorization_of_another_form_is_refused(acme, listened, text):
    hook = replace(Hook.recorded("azure_push_tag"), forge="git")

    refused(connected(acme, hook), hook.with_headers(Authorization=text), 401, "wrong_signature")


@pytest.mark.parametrize("name", OF_EACH)
def test_the_same_one_again_is_a_replay(acme, listened, name):
    hook = Hook.recorded(name).signed()
    repository = connected(acme, hook)
    assert send(repository, hook).status_code == 200

    with capture_logs() as logs:
        answer = send(repository, hook)

    assert answer.status_code == 409
    assert "received before" in answer.json()["error"]["message"]
    assert [line["reason"] for line in logs if line["event"] == "git_hook_refused"] == ["replayed"]
    assert len(listened) == 1


@pytest.mark.both
def test_another_number_does_not_make_a_body_new(acme, listened):
    """The number is in a header, which the signature does not cover."""
    hook = Hook.recorded("github_push_tag").signed()
    repository = connected(acme, hook)
    assert send(repository, hook).status_code == 200

    assert send(repository, hook.with_headers(X_GitHub_Delivery="another")).status_code == 409
    assert len(listened) == 1


def test_one_that_was_refused_may_come_again(acme, monkeypatch):
    """A failure while it is received does not use it up: the forge sends it again."""
    hook = Hook.recorded("github_push_tag").signed()
    repository = connected(acme, hook)

    def fails(_):
        raise Conflict("not now")

    monkeypatch.setattr(syncing, "listen", fails)
    assert send(repository, hook).status_code == 409
    monkeypatch.setattr(syncing, "listen", lambda _: None)
    assert send(repository, hook).status_code == 200


def test_deliveries_are_forgotten_after_a_month(acme, listened):
    hook = Hook.recorded("github_push_tag").signed()
    repository = connected(acme, hook)
    send(repository, hook)
    Delivery.objects.update(at=timezone.now() - timedelta(days=29))
    assert hooks.prune() == 0
    Delivery.objects.update(at=timezone.now() - timedelta(days=31))

    assert hooks.prune() == 2
    assert not Delivery.objects.exists()


FOREIGN = {
    "github_push_tag": ["repository", "full_name", "clone_url", "ssh_url", "html_url"],
    "gitlab_tag_push": ["project", "path_with_namespace", "git_http_url", "git_ssh_url", "web_url"],
    "gitea_push_tag": ["repository", "full_name", "clone_url", "ssh_url", "html_url"],
    "bitbucket_push_tag": ["repository", "full_name"],
}


@for_each_row("name", FOREIGN)
def test_one_of_another_repository_is_refused_by_name(acme, listened, name):
    hook = Hook.recorded(name)
    part, *fields = FOREIGN[name]
    other = json.loads(hook.body)[part] | dict.fromkeys(fields, "acme/network/terraform-aws-vpc")
    if name == "bitbucket_push_tag":
        other["links"] = {}

    text = refused(connected(acme, hook), hook.changed(**{part: other}).signed(), 422, "foreign_repository")

    assert "'acme/network/terraform-aws-vpc'" in text
    assert "terraform-aws-vpc, which this URL belongs to" in text
    assert "renamed" in text
    assert listened == []


def test_one_of_another_project_of_azure_is_refused(acme, listened):
    hook = Hook.recorded("azure_push_tag")
    repository = connected(acme, replace(hook, url="https://dev.azure.com/acme/Other/_git/terraform-aws-vpc"))

    refused(repository, hook.signed(), 422, "foreign_repository")


@pytest.mark.both
@for_each_row(
    ("body", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b"[" * 100_000, "not JSON"),
        (b"9" * 100_000, "not JSON"),
        (b"[]", "list"),
        (b"null", "NoneType"),
        (b"{}", "no repository"),
        (b'{"repository": []}', "no repository"),
        (b'{"repository": {"full_name": 3, "clone_url": {"a": 1}, "ssh_url": null}}', "no repository"),
        (b'{"repository": {"full_name": "\\u0000", "clone_url": "http://[", "ssh_url": "a@b:"}}', "expected acme"),
    ],
)
def test_a_body_of_another_form_is_refused(acme, listened, body, says):
    hook = replace(Hook.recorded("github_push_tag"), body=body).signed()
    reason = "foreign_repository" if "repository" in says or "expected" in says else "not_json"

    assert says in refused(connected(acme, hook), hook, 422, reason)


@for_each_row("name", OF_EACH)
def test_wrong_types_in_the_rest_of_a_body_are_no_push(acme, listened, name):
    hook = Hook.recorded(name)
    resource = json.loads(hook.body).get("resource", {}) | {"refUpdates": [None, 3, {"name": []}]}
    wrong = hook.changed(ref=[], push={"changes": [None, {"new": 3}]}, event_name=[], resource=resource)
    answer = send(connected(acme, hook), wrong.signed())

    assert answer.status_code == 200, answer.content
    assert answer.json()["is_listing"] is False


def test_a_form_is_refused_with_what_to_choose(acme, listened):
    hook = replace(Hook.recorded("github_push_tag"), body=b"payload=%7B%7D")
    hook = hook.with_headers(Content_Type="application/x-www-form-urlencoded").signed()

    assert "application/json" in refused(connected(acme, hook), hook, 422, "not_json")


def test_one_of_a_repository_that_was_disconnected_is_not_found(acme, listened):
    hook = Hook.recorded("github_push_tag").signed()
    repository = connected(acme, hook, ended_at=timezone.now())

    assert "No connected repository" in refused(repository, hook, 404, "unknown_hook")


def test_one_of_a_namespace_that_was_deleted_is_not_found(acme, listened):
    hook = Hook.recorded("github_push_tag").signed()
    repository = connected(acme, hook)
    Namespace.objects.filter(pk=acme.pk).update(deleted_at=timezone.now())

    refused(repository, hook, 404, "unknown_hook")
    assert listened == []


def test_urls_cannot_be_guessed_without_a_limit(db, client, settings):
    settings.RATES = settings.RATES | {"tokens": Rate(2, 3600)}
    paths = [f"{hooks.PATH}{hooks.new_id()}" for _ in range(3)]

    assert [client.post(path, b"{}", content_type="application/json").status_code for path in paths] == [404, 404, 429]


@for_each_row("hook_id", ["x", "x" * 44, "x" * 3000, "é", "%00"])
def test_an_unknown_url_is_not_found(db, client, hook_id):
    assert client.post(f"{hooks.PATH}{hook_id}", b"{}", content_type="application/json").status_code == 404


def test_the_secret_of_another_row_does_not_open(acme, listened):
    """Someone who can write to the database cannot put a secret that they know into another row."""
    hook = Hook.recorded("github_push_tag").signed()
    theirs, ours = connected(acme, hook, ended_at=timezone.now()), connected(acme, hook)
    ours.sealed_hook_secret = theirs.sealed_hook_secret
    ours.save()

    assert send(ours, hook).status_code == 503
    assert listened == []


@pytest.mark.both
def test_wrong_signatures_are_counted_and_stop_no_right_one_from_the_same_address(acme, listened, settings):
    """A stranger has the forge send wrong ones, by a webhook of their own to this URL."""
    settings.RATES = settings.RATES | {"tokens": Rate(2, 1000 * 3600)}
    hook = Hook.recorded("gitlab_tag_push")
    repository = connected(acme, hook)
    for number in range(4):
        right = hook.changed(message=number).with_headers(Idempotency_Key=str(number))
        assert send(repository, right.signed()).status_code == 200

    with capture_logs() as logs:
        answers = [send(repository, hook) for _ in range(31)]

    assert [answer.status_code for answer in answers] == [401] * 2 + [429] * 29
    assert int(answers[-1].headers["Retry-After"]) in range(1, 6)
    assert len([line for line in logs if line["event"] == "git_hook_refused"]) == 2, "what is limited fills no log"
    assert send(repository, hook.changed(message="late").signed()).status_code == 200
