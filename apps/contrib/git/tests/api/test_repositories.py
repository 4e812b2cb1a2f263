"""/api/v1/namespaces/<ns>/repositories: owners connect, change and disconnect; publishers read."""

import pytest

from apps.accounts.models import Scope
from apps.audit.models import AuditEvent
from apps.contrib.git import connecting, host_scanning
from apps.contrib.git.models import GitRepository, Tag
from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.tests.api.conftest import URL
from apps.contrib.git.tests.conftest import RULES, work_off
from apps.jobs.models import Job
from tests.rows import for_each_row

TOKEN = "not-a-real-token-of-the-forge-4711"


def test_an_owner_connects_a_repository_and_nothing_is_published_before_the_first_sync(connected, site):
    assert connected["url"] == site.url_of("acme/terraform-aws-vpc")
    assert (connected["state"], connected["forge"], connected["namespace"]) == ("draft", "git", "acme")
    assert connected["rules"] == RULES
    assert connected["credential"]["kind"] == "none"
    assert connected["publishes_as"] == f"acme:git-{connected['id']}[bot]"
    assert (connected["by"], connected["poll_minutes"], connected["fetched_at"]) == ("dora", 15, None)
    assert set(connected["tags"].values()) == {0}
    assert not Job.objects.exists()
    assert not Tag.objects.exists()


def test_the_secret_of_the_webhook_is_in_the_first_answer_and_in_that_to_its_renewal_alone(connected, call, dora):
    secret = connected["webhook"].pop("secret")
    assert secret.startswith("whsec_")

    shown = call(dora).get(f"/{connected['id']}")
    assert shown.json() == connected
    assert secret not in shown.content.decode()
    assert call(dora).get().json() == {"repositories": [connected], "next": None}

    answer = call(dora).post(f"/{connected['id']}/webhook-secret")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    assert answer.json()["url"] == connected["webhook"]["url"]
    assert answer.json()["secret"] not in ("", secret)


@pytest.mark.parametrize("kind", ["token", "deploy_key", "app"])
def test_no_secret_of_a_credential_is_answered_logged_or_audited(
    call, dora, acme, caplog, kind, private_pem, quiet_ssh
):
    credential = {
        "token": {"kind": "token", "token": TOKEN, "username": "larder"},
        "deploy_key": {"kind": "deploy_key"},
        "app": {"kind": "app", "app_id": "12", "installation_id": "34", "private_key": private_pem},
    }[kind]
    url = "git@github.com:acme/vpc.git" if kind == "deploy_key" else "https://github.com/acme/vpc"
    answer = call(dora).post(url=url, rules=RULES, credential=credential)

    assert answer.status_code == (202 if kind == "deploy_key" else 201), answer.content
    told = answer.json()["credential"]
    assert told["kind"] == kind
    facts = {"token": ("username", "larder"), "app": ("installation_id", "34")}.get(kind)
    assert told[facts[0]] == facts[1] if facts else told["public_key"].startswith("ssh-ed25519 ")
    if kind == "deploy_key":
        assert answer.json()["url"] == "ssh://git@github.com/acme/vpc.git"
        assert told["page"] == "https://github.com/acme/vpc/settings/keys/new"
        assert "Deploy keys" in told["how"]
        work_off()
        assert call(dora).get(f"/{answer.json()['id']}").json()["host_keys"] == quiet_ssh
    row = GitRepository.objects.get()
    everything = answer.content.decode() + caplog.text + str(list(AuditEvent.objects.values_list("detail", flat=True)))
    for secret in (TOKEN, "PRIVATE KEY", row.sealed_credential, row.sealed_hook_secret):
        assert secret not in everything


def test_rules_and_credential_are_replaced_and_other_fields_stay(connected, call, dora):
    rules = [{"tag": "{version}", "folder": "modules/vpc", "module": "network/aws"}]
    answer = call(dora).send("PATCH", f"/{connected['id']}", rules=rules, poll_minutes=60)

    assert answer.status_code == 200, answer.content
    assert (answer.json()["rules"], answer.json()["poll_minutes"]) == (rules, 60)
    assert (answer.json()["submodules"], answer.json()["allow_submodules"]) == ("refuse", False)
    [event] = AuditEvent.objects.filter(kind="namespace:git-repository:changed")
    assert event.detail["changes"] == {"rules": rules, "poll_minutes": 60}

    changed = call(dora).send("PATCH", f"/{connected['id']}", credential={"kind": "token", "token": TOKEN})
    assert changed.json()["credential"]["kind"] == "token"
    assert TOKEN not in changed.content.decode()
    changed = call(dora).send("PATCH", f"/{connected['id']}", credential={"kind": "none"})
    assert (changed.json()["credential"]["kind"], GitRepository.objects.get().sealed_credential) == ("none", "")


@for_each_row(
    ("fields", "submodules", "allowed"),
    [
        ({"submodules": "leave_out"}, "leave_out", False),
        ({"submodules": "fetch"}, "fetch", True),
        ({"allow_submodules": True}, "fetch", True),
        ({"allow_submodules": False}, "refuse", False),
        ({"submodules": "leave_out", "allow_submodules": False}, "leave_out", False),
    ],
)
def test_what_becomes_of_submodules_is_a_choice_of_three_by_the_old_name_of_two(
    connected, call, dora, fields, submodules, allowed
):
    answer = call(dora).send("PATCH", f"/{connected['id']}", **fields)

    assert answer.status_code == 200, answer.content
    shown = call(dora).get(f"/{connected['id']}").json()
    assert (shown["submodules"], shown["allow_submodules"]) == (submodules, allowed)


def test_a_dry_run_names_what_it_published_and_disconnects_nothing(synced, call, dora):
    answer = call(dora).send("DELETE", f"/{synced['id']}?dry_run=1").json()

    assert [(hit["name"], hit["note"]) for hit in answer["hits"]] == [("acme/vpc/aws", "1 version so far")]
    assert call(dora).get(f"/{synced['id']}").status_code == 200


def test_disconnected_it_is_not_found_and_its_machine_acts_no_more(connected, call, dora):
    assert call(dora).send("DELETE", f"/{connected['id']}").status_code == 204

    assert call(dora).get(f"/{connected['id']}").status_code == 404
    assert call(dora).get().json()["repositories"] == []
    row = GitRepository.objects.select_related("user").get()
    assert (row.ended_at is not None, row.user.is_active) == (True, False)
    assert call(dora).send("DELETE", f"/{connected['id']}").status_code == 404


@for_each_row(
    ("fields", "said"),
    [
        ({}, "url: This field is required."),
        ({"url": "file:///etc"}, "expected https:// or ssh:// and a host"),
        ({"url": "https://github.com/acme/vpc", "rules": [{"tag": "v{version}"}]}, "rules.0.module"),
        ({"url": "https://github.com/acme/vpc", "poll_minutes": 0}, "poll_minutes: "),
        ({"url": "https://github.com/acme/vpc", "credential": {"kind": "deploy_key"}}, "A deploy key works over ssh"),
        ({"url": "https://github.com/acme/vpc", "hooks": True}, "There is no field 'hooks'"),
    ],
)
def test_what_is_wrong_is_named_with_what_was_expected(call, dora, fields, said):
    answer = call(dora).post(**fields)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "invalid")
    assert said in error["message"]
    assert error["hint"]
    assert not GitRepository.objects.exists()


def test_publishers_read_and_change_nothing(connected, call, alice, bob, charlie):
    one = f"/{connected['id']}"
    assert call(alice, Scope.PUBLISH).get(one).json()["state"] == "draft"
    for method, below in (("PATCH", one), ("DELETE", one), ("POST", f"{one}/sync"), ("POST", f"{one}/preview")):
        assert call(alice).send(method, below).status_code == 403, (method, below)
    assert (call(bob).get(one).status_code, call(charlie).get(one).status_code) == (403, 404)


@pytest.mark.both
def test_the_list_costs_the_same_at_any_length(connected, call, dora, acme, in_pages, tofu):
    for number in range(4):
        assert call(dora).post(url=f"https://github.com/acme/vpc-{number}", rules=RULES).status_code == 201
    assert connecting.of(acme).count() == 5

    rows = in_pages(tofu(dora), URL, queries=6, size=3)
    assert [row["url"].rpartition("/")[2] for row in rows[1:]] == [f"vpc-{number}" for number in range(4)]
    assert all(row["rules"] == RULES for row in rows)


def test_a_failing_server_is_shown_with_how_to_fix_it(connected, call, dora, site):
    site.is_down = True
    call(dora).post(f"/{connected['id']}/sync")
    work_off()

    told = call(dora).get(f"/{connected['id']}").json()
    assert (told["state"], told["failure"]["code"]) == ("failing", "server_error")
    assert "503" in told["failure"]["message"]
    assert told["next_at"] is not None
    assert told["log"]


def test_host_keys_are_trusted_only_as_they_were_shown_and_only_ssh_has_any(connected, call, dora, quiet_ssh):
    answer = call(dora).post(f"/{connected['id']}/host-keys", fingerprints=["SHA256:x"])
    assert (answer.status_code, "Only ssh servers" in answer.json()["error"]["message"]) == (409, True)

    one = call(dora).post(url="git@github.com:acme/vpc.git", rules=RULES).json()
    assert (one["host_keys"], one["host_key_scan"]["state"]) == ([], "waiting")
    path = f"/{one['id']}/host-keys"
    assert call(dora).post(path, fingerprints=quiet_ssh).status_code == 202
    work_off()
    refused = call(dora).post(path, fingerprints=["SHA256:another"])
    assert refused.status_code == 409
    assert quiet_ssh[0] in refused.json()["error"]["message"]

    again = call(dora).post(path, fingerprints=quiet_ssh)
    assert (again.status_code, again.json()["host_keys"]) == (200, quiet_ssh)
    assert again.json()["host_key_scan"]["fingerprints"] == quiet_ssh
    assert not Job.objects.filter(kind=host_scanning.JOB, state="queued").exists(), "read a moment ago"


def test_requests_wait_for_the_worker_that_asks_an_ssh_server(call, dora, acme, quiet_ssh, waited):
    made = waited("", url="git@github.com:acme/vpc.git", rules=RULES)
    assert (made.status_code, made.json()["host_keys"]) == (201, quiet_ssh)
    assert made.json()["webhook"]["secret"].startswith("whsec_")
    assert made.headers["Cache-Control"] == "no-store"

    GitRepository.objects.update(host_scanned_at=None)
    path = f"/{made.json()['id']}/host-keys"
    read = waited(path)
    assert (read.status_code, read.json()["host_key_scan"]["fingerprints"]) == (200, quiet_ssh)
    GitRepository.objects.update(host_scanned_at=None)
    refused = waited(path, fingerprints=["SHA256:another"])
    assert (refused.status_code, quiet_ssh[0] in refused.json()["error"]["message"]) == (409, True)


def test_an_ssh_server_that_does_not_answer_is_told_by_the_call_that_trusts(call, dora, acme, monkeypatch, waited):
    def refuse(*_):
        raise GitFailed("unreachable", "github.com on port 22 showed no ssh host key.", hint="Check the host.")

    monkeypatch.setattr("apps.contrib.git.remote.host_keys.scanned", refuse)
    made = waited("", url="git@github.com:acme/vpc.git", rules=RULES)
    failure = {
        "code": "unreachable",
        "message": "github.com on port 22 showed no ssh host key.",
        "hint": "Check the host.",
    }
    assert (made.status_code, made.json()["host_key_scan"]["failure"]) == (201, failure)
    answer = waited(f"/{made.json()['id']}/host-keys", fingerprints=["SHA256:another"])
    assert answer.status_code == 503
    assert "showed no ssh host key" in answer.json()["error"]["message"]
