"""/api/v1/namespaces/<ns>/webhooks, and /api/v1/webhooks for operators."""

import json
from typing import Any

from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.contrib.webhooks import hooks
from apps.contrib.webhooks.tests.conftest import tell
from apps.notify.models import Delivery, State, Webhook
from tests.notify.receiver import says
from tests.rows import for_each_row

URL = "/api/v1/namespaces/acme/webhooks"
MADE: dict[str, Any] = {"url": "https://hooks.acme.example/larder", "events": ["release.yanked", "release.published"]}


def send(client, method="POST", path="", root=URL, **body):
    return client.generic(method, root + path, json.dumps(body), content_type="application/json")


def kinds():
    rows = AuditEvent.objects.filter(kind__startswith="namespace:webhook:").order_by("pk")
    return [row.kind.rpartition(":")[2] for row in rows]


def test_an_owner_creates_one_and_gets_its_secret_once(tofu, dora):
    answer = send(tofu(dora), **MADE)

    assert answer.status_code == 201, answer.json()
    made = answer.json()
    assert made.pop("secret").startswith("whsec_")
    assert answer.headers["Cache-Control"] == "no-store"
    assert made["events"] == ["release.published", "release.yanked"]
    assert (made["shape"], made["enabled"], made["by"], made["namespace"]) == ("standard", True, "dora", "acme")
    assert tofu(dora).get(URL).json() == {"webhooks": [made], "next": None}
    assert tofu(dora).get(f"{URL}/{made['id']}").json() == made
    [event] = AuditEvent.objects.filter(kind="namespace:webhook:created")
    assert event.detail["host"] == "hooks.acme.example"
    assert "larder" not in json.dumps(event.detail)  # the rest of a URL may be a secret


@for_each_row(
    ("changes", "said"),
    [
        ({"url": "https://127.0.0.1/"}, "127.0.0.1 with https on port 443 is not allowed"),
        ({"url": "http://hooks.acme.example/"}, "uses http on port 80, expected https on port 443"),
        ({"url": "https://localhost/"}, "expected a full name such as hooks.acme.example"),
        ({"events": ["release.eaten"]}, "is not a valid choice"),
        ({"events": []}, "no events"),
        ({"color": "red"}, "no field"),
    ],
)
def test_what_no_webhook_can_be_is_refused_with_a_hint_and_none_is_changed_to_it(tofu, dora, changes, said):
    """The addresses that can be called are in tests/notify/test_outgoing_addresses.py."""
    client = tofu(dora)
    path = f"/{send(client, **MADE).json()['id']}"

    for answer in (send(client, **(MADE | changes)), send(client, "PATCH", path, **changes)):
        assert answer.status_code == 422
        assert said in json.dumps(answer.json())
    assert Webhook.objects.get().url == MADE["url"]


def test_one_from_before_the_rule_can_still_be_changed_otherwise(tofu, dora):
    path = f"/{send(tofu(dora), **MADE).json()['id']}"
    Webhook.objects.update(url="http://db/larder")

    same = send(tofu(dora), "PATCH", path, url="http://db/larder", events=["release.held"])
    assert (same.status_code, same.json()["events"]) == (200, ["release.held"])


def test_there_are_not_too_many(tofu, dora):
    for _ in range(hooks.MAX_WEBHOOKS):
        assert send(tofu(dora), **MADE).status_code == 201
    assert send(tofu(dora), **MADE).status_code == 409


def test_it_is_changed_switched_off_and_deleted(tofu, dora):
    number = send(tofu(dora), **MADE).json()["id"]
    path = f"/{number}"

    changed = send(tofu(dora), "PATCH", path, events=["release.held"], url="https://other.acme.example/").json()
    assert (changed["events"], changed["url"]) == (["release.held"], "https://other.acme.example/")
    off = send(tofu(dora), "PATCH", path, enabled=False).json()
    assert (off["enabled"], off["disabled_reason"]) == (False, "Switched off by its owner.")
    assert send(tofu(dora), path=f"{path}/test").status_code == 409
    assert send(tofu(dora), "PATCH", path, enabled=True).json()["enabled"]
    assert send(tofu(dora), "DELETE", path).status_code == 204
    assert send(tofu(dora), "DELETE", path).status_code == 404
    assert kinds() == ["created", "changed", "changed", "changed", "deleted"]


def test_a_dry_run_names_the_receiver_and_what_would_never_be_sent(tofu, dora):
    number = send(tofu(dora), **MADE).json()["id"]
    assert tofu(dora).delete(f"{URL}/{number}?dry_run=1").json()["hits"] == []
    now, facts = timezone.now(), {"webhook_id": number, "event": "release.yanked", "subject": "", "body": "{}"}
    for index, state in enumerate((State.DELIVERED, State.DELIVERED, State.WAITING, State.FAILED)):
        ended = None if state == State.WAITING else now
        Delivery.objects.create(message_id=f"m{index}", state=state, next_at=now, ended_at=ended, **facts)

    [hit] = tofu(dora).delete(f"{URL}/{number}?dry_run=1").json()["hits"]

    assert (hit["kind"], hit["name"], hit["effect"], hit["count"]) == ("client", "hooks.acme.example", "fails", 2)
    assert hit["note"] == "1 waiting and never sent"
    assert Webhook.objects.filter(pk=number).exists()


def test_one_of_another_namespace_is_not_there(tofu, dora, olga, pantry):
    elsewhere, _ = hooks.create(namespace=pantry, actor=Viewer(olga), **MADE)
    everywhere, _ = hooks.create(namespace=None, actor=Viewer(olga), **MADE)

    for number in (elsewhere.pk, everywhere.pk):
        assert tofu(dora).get(f"{URL}/{number}").status_code == 404
        assert tofu(olga).get(f"{URL}/{number}").status_code == 404
    assert tofu(olga).get(f"/api/v1/webhooks/{everywhere.pk}").json()["namespace"] is None
    assert tofu(olga).get(f"/api/v1/webhooks/{elsewhere.pk}").status_code == 404


def test_a_test_is_sent_the_log_tells_how_it_ended_and_it_is_sent_again_with_its_id(tofu, dora, hooked):
    hook, _, there = hooked(says(500, b"<h1>Oops</h1>"))
    path = f"/{hook.pk}"

    answer = send(tofu(dora), path=f"{path}/test")
    assert (answer.status_code, answer.json()["state"], answer.json()["event"]) == (202, "waiting", "webhook.test")
    assert send(tofu(dora), path=f"{path}/test").status_code == 409
    again = f"{path}/deliveries/{Delivery.objects.get().pk}/redeliver"
    assert send(tofu(dora), path=again).status_code == 409
    tell()

    [logged] = tofu(dora).get(f"{URL}{path}/deliveries").json()["deliveries"]
    assert (logged["status"], logged["answer"], logged["attempts"]) == (500, "<h1>Oops</h1>", 1)
    assert logged["error"] == "the answer was 500"
    assert json.loads(logged["body"])["type"] == "webhook.test"
    Delivery.objects.update(state=State.FAILED)
    assert send(tofu(dora), path=again).status_code == 202
    tell()
    first, second = there.received
    assert first.body.decode() == logged["body"]
    assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])
    assert send(tofu(dora), path=f"{path}/deliveries/0/redeliver").status_code == 404
    assert kinds() == ["created", "tested", "redelivered"]


def test_the_log_costs_the_same_at_any_length(tofu, dora, hooked, django_assert_num_queries):
    hook, _, _ = hooked()
    client = tofu(dora)
    for _ in range(5):
        send(client, path=f"/{hook.pk}/test")
        tell()
    client.get(f"{URL}/{hook.pk}/deliveries")
    with django_assert_num_queries(4):  # token, gate, webhook, log
        client.get(f"{URL}/{hook.pk}/deliveries")
