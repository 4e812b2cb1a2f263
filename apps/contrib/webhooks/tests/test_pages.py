"""The pages of webhooks: added with a secret that is shown once, tested, read, sent again, switched and deleted."""

import re

import pytest

from apps.contrib.webhooks.tests.conftest import tell
from apps.notify.events import EVENTS
from apps.notify.models import Delivery, Webhook
from tests.notify.receiver import says

LIST = "/namespaces/acme/webhooks"
FORM = {"url": "https://hooks.acme.example/larder", "shape": "standard", "events": ["release.published"]}


@pytest.fixture
def page(browser_of, dora):
    return browser_of(dora)


def test_the_secret_is_shown_once_after_adding(page):
    assert "No webhooks yet" in page.get(LIST).text
    answer = page.post(f"{LIST}/add", FORM)

    assert answer.status_code == 303
    shown = page.get(answer.url)
    assert re.search(r"whsec_[A-Za-z0-9+/]{43}=", shown.text)
    assert shown.headers["Cache-Control"] == "no-store"
    assert "whsec_" not in page.get(answer.url).text
    assert "hooks.acme.example" in page.get(LIST).text


def test_the_form_says_what_each_event_is_beside_its_name(page, hooked):
    hook, _, _ = hooked()

    for shown in (page.get(f"{LIST}/add").text, page.get(f"{LIST}/{hook.pk}/change").text):
        offered = re.findall(
            r'value="([a-z.-]+)"[^>]*>\s*<span>([A-Z][^<]+?) <span class="mono faint nowrap">([a-z.-]+)</span>', shown
        )
        assert [name for name, _, _ in offered] == [name for _, _, name in offered] == list(EVENTS)
        assert len({label for _, label, _ in offered}) == len(EVENTS)


def test_hostile_text_in_a_url_is_text(page):
    hostile = "<script>alert(1)</script>"
    assert page.post(f"{LIST}/add", FORM | {"url": f"{FORM['url']}/{hostile}"}).status_code == 303
    here = f"{LIST}/{Webhook.objects.get().pk}"
    refused = page.post(f"{LIST}/add", FORM | {"url": hostile, "events": ["<b>"]})

    assert refused.status_code == 422
    for shown in (page.get(LIST), page.get(here), page.get(f"{here}/change"), refused):
        assert hostile not in shown.text
        assert "<b>" not in shown.text
    for shown in (page.get(f"{here}/change"), refused):
        assert "&lt;script&gt;alert(1)" in shown.text


def test_a_test_its_answer_and_sending_again(page, hooked):
    hook, _, there = hooked(says(500, b"<script>alert(1)</script>"))
    here = f"{LIST}/{hook.pk}"
    assert page.post(f"{here}/test").status_code == 303
    tell()

    log = page.get(here).text
    assert "The answer was 500" in log
    assert "Failing" in log
    delivery = f"{here}/deliveries/{Delivery.objects.get().pk}"
    shown = page.get(delivery).text
    assert "&lt;script&gt;alert(1)" in shown
    assert "webhook.test" in shown
    Delivery.objects.update(state="failed")
    assert page.post(delivery).status_code == 303
    tell()
    assert len(there.received) == 2


def test_it_is_switched_off_and_on_changed_and_deleted(page, hooked):
    hook, _, there = hooked()
    here = f"{LIST}/{hook.pk}"
    page.post(f"{here}/switch", {"on": "0"})
    off = page.get(here).text
    assert "Switched off" in off
    assert f"{here}/test" not in off
    page.post(f"{here}/switch", {"on": "1"})
    page.post(f"{here}/change", {"url": there.url, "events": ["release.yanked"]})
    assert "release.yanked" in page.get(here).text
    assert "No one is hit: it delivered nothing" in page.get(f"{here}/delete").text
    assert page.post(f"{here}/delete").status_code == 303
    assert not Webhook.objects.exists()


def test_the_log_costs_the_same_at_any_length(page, hooked, django_assert_max_num_queries):
    hook, _, _ = hooked()
    for _ in range(5):
        page.post(f"{LIST}/{hook.pk}/test")
        tell()
    page.get("/tokens")  # the person has acted: the number in the menu is counted anew
    with django_assert_max_num_queries(8):
        page.get(f"{LIST}/{hook.pk}")


def test_operators_have_those_of_every_namespace(browser_of, olga, dora):
    page = browser_of(olga)
    answer = page.post("/webhooks/add", FORM)
    assert answer.status_code == 303
    assert Webhook.objects.get().namespace is None
    assert "/webhooks" in page.get("/").text
    assert browser_of(dora).get("/webhooks").status_code == 403
