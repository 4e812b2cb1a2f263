"""What a receiver gets: signatures that the page of the documentation believes, and the JSON of each shape."""

import json
import re

import pytest
from django.conf import settings as site
from django.utils import timezone

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Role
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.webhooks import deliveries, hooks
from apps.contrib.webhooks.tests.conftest import tell
from apps.notify.models import Delivery, OutboxEvent, Shape, State, Webhook
from apps.notify.notices import notices_of
from apps.releases.lifecycle import verbs
from tests.builders.approving import client_of, decide
from tests.builders.archives import module_zip
from tests.house import sources
from tests.notify.conftest import event
from tests.rows import for_each_row

PAGE = (sources.CHECKOUT / "docs/webhooks.md").read_text()


def is_from_larder(*given):
    """The function of docs/webhooks.md, as it is written there."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    there: dict = {}
    exec(code, there)  # noqa: S102  # our own page
    return there["is_from_larder"](*given)


@pytest.mark.both
def test_a_release_is_told_and_the_page_of_the_documentation_believes_it(published, hooked, alice):
    hook, secret, there = hooked()
    release = published()
    tell()

    [got] = there.received
    document = json.loads(got.body)
    assert document["type"] == "release.published"
    assert document["data"] == {
        "namespace": "acme",
        "kind": "module",
        "address": "acme/vpc/aws",
        "version": "1.2.0",
        "by": "alice",
        "url": f"{site.PUBLIC_URL}/modules/acme/vpc/aws/1.2.0",
        "text": "acme/vpc/aws 1.2.0 was published by alice.",
        "digest": release.digest,
    }
    assert got.headers["content-type"] == "application/json"
    assert is_from_larder(secret, got.headers, got.body)
    assert not is_from_larder(secret, got.headers, got.body + b" ")
    assert not is_from_larder("whsec_" + "A" * 43 + "=", got.headers, got.body)
    assert not is_from_larder(secret, got.headers | {"webhook-timestamp": "1"}, got.body)
    [delivery] = Delivery.objects.all()
    assert (delivery.state, delivery.status, delivery.attempts) == (State.DELIVERED, 204, 1)
    assert delivery.webhook == hook
    assert not OutboxEvent.objects.exists()


def test_the_example_of_the_documentation_has_the_fields_of_a_real_one(published, hooked, dora, alice):
    _, _, there = hooked(events=["release.deprecated"])
    release = published()
    verbs.deprecate(release=release, actor=Viewer(dora), reason="Its subnets overlap.", replacement="1.2.1")
    tell()

    [example] = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    [got] = there.received
    document = json.loads(got.body)
    assert list(document) == list(example)
    assert list(document["data"]) == list(example["data"])
    assert document["data"] | {"url": "", "version": ""} == example["data"] | {"url": "", "version": ""}


def test_both_secrets_sign_for_a_day_after_an_exchange(hooked, dora):
    hook, former, there = hooked()
    secret = hooks.rotate(hook=hook, actor=Viewer(dora))
    event()
    tell()
    [got] = there.received
    assert is_from_larder(former, got.headers, got.body)
    assert is_from_larder(secret, got.headers, got.body)

    Webhook.objects.update(former_until=timezone.now())
    event()
    tell()
    assert not is_from_larder(former, there.received[1].headers, there.received[1].body)
    assert is_from_larder(secret, there.received[1].headers, there.received[1].body)


@for_each_row("shape", ["slack", "teams"])
def test_slack_and_teams_get_a_message_whose_text_does_nothing(shape, hooked, published, dora):
    _, _, there = hooked(events=["release.yanked"], shape=shape)
    reason = "<!channel> *Look* <https://evil.example|here> [x](https://evil.example) & so on"
    verbs.yank(release=published(), actor=Viewer(dora), reason=reason)
    tell()

    document = json.loads(there.received[0].body)
    page = f"{site.PUBLIC_URL}/modules/acme/vpc/aws/1.2.0"
    if shape == "slack":
        [line, quoted] = document["text"].split("\n")
        assert line == f"acme/vpc/aws 1.2.0 was yanked by dora. <{page}|Open in Larder>"
        assert "<" not in quoted
        assert "&lt;!channel&gt;" in quoted
        assert "*\N{ZERO WIDTH SPACE}Look" in quoted
    else:
        [card] = [one["content"] for one in document["attachments"]]
        texts = [run for block in card["body"] for run in block["inlines"]]
        assert {block["type"] for block in card["body"]} == {"RichTextBlock"}  # a TextBlock would read Markdown
        assert texts[1] == {"type": "TextRun", "text": reason}
        assert [action["url"] for action in card["actions"]] == [page]


@for_each_row(("kind", "name"), [(Kind.RELEASE_REJECTED, "release.rejected"), (Kind.RELEASE_HELD, "release.held")])
def test_what_is_not_published_leads_to_its_release(kind, name, hooked, published):
    _, _, there = hooked(events=[name])
    release = published()
    event(kind, str(release), release=release.pk, reasons=["no_root"])
    tell()

    data = json.loads(there.received[0].body)["data"]
    assert data["url"] == f"{site.PUBLIC_URL}/releases/{release.public_id}"
    assert data["reasons"] == ["no_root"]


def test_a_role_names_who_got_it(hooked, acme, dora, charlie):
    _, _, there = hooked(events=["role.granted"])
    namespaces.grant(namespace=acme, grantee=charlie, role=Role.READER, actor=Viewer(dora))
    tell()

    data = json.loads(there.received[0].body)["data"]
    assert (data["user"], data["role"], data["by"]) == ("charlie", "reader", "dora")
    assert Grant.objects.filter(user=charlie).exists()


def test_programs_are_told_what_breaks_as_well(published):
    published(version="1.2.0", data=module_zip({"main.tf": "".join(f'variable "in_{n}" {{}}\n' for n in range(7))}))
    published(version="2.0.0", data=module_zip({"main.tf": ""}))
    first, second = notices_of(AuditEvent.objects.filter(kind=Kind.RELEASE_PUBLISHED).order_by("pk"))
    sentence = "Breaks users of 1.2.0: input in_0, input in_1, input in_2, input in_3, input in_4 and 2 more."

    for shape in Shape:
        assert sentence in deliveries.body_of(second, shape).replace("\N{ZERO WIDTH SPACE}", "")
        assert "reaks" not in deliveries.body_of(first, shape)


def told(kind):
    """The body of a webhook about the latest event of that kind."""
    event = AuditEvent.objects.filter(kind=kind).latest("pk")
    return json.loads(deliveries.body_of(notices_of([event])[0], Shape.STANDARD))


def test_webhooks_have_what_a_bot_needs(waiting, bob, settings):
    body = told("namespace:release:approval-requested")

    assert body["type"] == "release.awaiting-approval"
    data = body["data"]
    assert (data["release"], data["digest"]) == (str(waiting.public_id), waiting.digest)
    assert data["unusual"] == ["This is the first release of acme/vpc/aws."]
    assert data["url"] == f"{settings.PUBLIC_URL}/releases/{waiting.public_id}"
    assert data["by"] is None

    decide(client_of(bob), waiting, "decline", reason="Not today")
    declined = told("namespace:release:declined")
    assert (declined["type"], declined["data"]["reason"]) == ("release.declined", "Not today")
    assert declined["data"]["text"] == "acme/vpc/aws 1.2.0 was declined by bob."
