"""A version that breaks something although its number does not say so, under each rule of its namespace."""

import pytest

from apps.accounts.models import Namespace
from apps.audit.models import AuditEvent
from tests.builders.archives import PRIVATE_KEY, module_zip
from tests.rows import for_each_row

URL = "/api/v1/modules/acme/vpc/aws/{}"
BEFORE = {"main.tf": 'variable "name" {\n  default = "x"\n}\n'}
AFTER = {"main.tf": 'variable "name" {}\n'}
WHY = "confirm=breaking-change&reason=Nobody+left+it+out."


@pytest.fixture
def rule(published, acme):
    """Publishes 1.2.0, and sets the rule for what comes then."""

    def choose(mode: str) -> None:
        published(version="1.2.0", data=module_zip(BEFORE))
        Namespace.objects.filter(pk=acme.pk).update(breaking_changes=mode)

    return choose


@pytest.fixture
def send(tofu, alice, work):
    """Sends a version by the API, lets the worker look at it, and returns its document."""
    client = tofu(alice)

    def put(version: str = "1.3.0", files=AFTER, query: str = "") -> dict:
        answer = upload(client, f"{version}?{query}", files)
        assert answer.status_code in (200, 202), answer.content
        work()
        return client.get(f"/api/v1/releases/{answer.json()['id']}").json()

    return put


def upload(client, version, files=AFTER):
    return client.generic("PUT", URL.format(version), module_zip(files), content_type="application/octet-stream")


def codes(reasons) -> list[str]:
    return [reason["code"] for reason in reasons]


@pytest.mark.both
def test_warn_publishes_it_and_keeps_what_it_breaks_and_silent_keeps_nothing(rule, send):
    rule("warn")
    document = send()

    assert document["state"] == "published"
    guard = document["notes"]["guard"]
    assert (guard["against"], guard["step"], guard["is_said"], guard["breaking"]) == ("1.2.0", "minor", False, 1)
    assert [(one["rule"], one["name"], one["before"]) for one in guard["changes"]] == [
        ("input_made_required", "name", '"x"')
    ]
    Namespace.objects.update(breaking_changes="silent")
    assert "guard" not in send("1.4.0", {"main.tf": ""})["notes"]


@for_each_row("mode", ["ask", "refuse"])
def test_a_number_that_says_so_and_a_change_that_breaks_nothing_pass_every_rule(rule, send, mode):
    rule(mode)

    assert send("1.2.1", BEFORE | {"outputs.tf": 'output "id" {\n  value = 1\n}\n'})["state"] == "published"
    said = send("2.0.0")
    assert (said["state"], said["notes"]["guard"]["is_said"]) == ("published", True)


def test_ask_holds_what_a_script_sent_until_it_is_sent_again_with_a_reason(rule, send, tofu, alice, bob):
    rule("ask")
    held = send()
    assert (held["state"], codes(held["questions"])) == ("held", ["breaking_change"])
    assert "1 breaking change since 1.2.0: input name" in held["questions"][0]["found"]
    assert "2.0.0" in held["questions"][0]["expected"]
    assert "?confirm=breaking-change&reason=" in held["questions"][0]["hint"]
    assert held["notes"]["guard"]["breaking"] == 1
    listed = tofu(bob).get("/v1/modules/acme/vpc/aws/versions").json()["modules"][0]["versions"]
    assert [one["version"] for one in listed] == ["1.2.0"], "a held release is nothing to clients"
    assert tofu(bob).get("/v1/modules/acme/vpc/aws/1.3.0/download").status_code == 404

    assert send()["state"] == "held", "the same again without an answer changes nothing"
    answer = upload(tofu(alice), "1.3.0?confirm=breaking-change")
    assert (answer.status_code, "no reason" in answer.json()["error"]["message"]) == (422, True)
    published = send(query=WHY)
    assert (published["id"], published["state"]) == (held["id"], "published")
    assert published["breaking_reason"] == "Nobody left it out."
    event = AuditEvent.objects.get(kind="namespace:release:answered")
    assert event.detail["reason"] == "Nobody left it out."
    assert event.actor_id == alice.pk


def test_ask_takes_a_reason_in_advance_and_a_confirmation_alone_is_none(rule, send):
    rule("ask")

    assert send("1.3.0", query="confirm=breaking-change")["state"] == "held"
    assert send("1.3.1", query=WHY)["state"] == "published"


def test_ask_refuses_a_script_whose_archive_raises_another_question(rule, send):
    rule("ask")
    document = send(files=AFTER | {"id_rsa": PRIVATE_KEY})

    assert (document["state"], codes(document["reasons"])) == ("rejected", ["private_key", "breaking_change"])


def test_refuse_ends_it_with_the_list_and_frees_the_number(rule, send):
    rule("refuse")
    document = send(query=WHY)

    assert (document["state"], codes(document["reasons"])) == ("rejected", ["breaking_change"])
    assert "confirm" not in document["reasons"][0]["hint"]
    assert [one["rule"] for one in document["notes"]["guard"]["changes"]] == ["input_made_required"]
    assert send("1.3.0", BEFORE)["state"] == "published"


def test_a_version_is_read_once_more_when_the_answer_comes(rule, send, published, tofu, alice, work):
    """A version that was published meanwhile counts: 1.2.5 has broken it already."""
    rule("ask")
    held = send()
    Namespace.objects.update(breaking_changes="warn")
    published(version="1.2.5", data=module_zip(AFTER))
    answer = {"confirm": ["breaking_change"], "reason": "It is a mistake."}
    client = tofu(alice)
    client.post(f"/api/v1/releases/{held['id']}/answer", answer, content_type="application/json")
    work()

    document = client.get(f"/api/v1/releases/{held['id']}").json()
    assert (document["state"], document["notes"]["guard"]["against"]) == ("published", "1.2.5")
    assert document["notes"]["guard"]["breaking"] == 0


def test_a_flood_of_changes_is_kept_short(send, published):
    many = "".join(
        f'variable "v{number}" {{\n  type = object({{ {"a" * 400} = string }})\n}}\n' for number in range(90)
    )
    published(version="1.2.0", data=module_zip({"main.tf": many}))
    document = send(files={"main.tf": ""})

    guard = document["notes"]["guard"]
    assert (guard["breaking"], len(guard["changes"])) == (90, 50)
    assert len(guard["changes"][0]["before"]) == 200
