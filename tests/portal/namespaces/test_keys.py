"""/namespaces/<ns>/keys: shown to readers, added in two steps, made by a worker, retired and revoked."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.models import AuditEvent
from apps.notify import outbox
from apps.notify.models import Letter, Topic
from apps.signing.models import PrivateKey, SigningKey
from tests import pages
from tests.builders.keys import extended, signing_key
from tests.modules.dependents.rows import reported
from tests.portal.providers.rows import provider_version, row_of_key
from tests.rows import for_each_row

KEYS = "/namespaces/acme/keys"
ADD = f"{KEYS}/add"


@pytest.fixture
def browser(dora, browser_of):
    return browser_of(dora)


@pytest.fixture
def registered(browser):
    key = signing_key("ed25519")
    assert browser.post(ADD, {"armor": key.armor, "step": "save"}).status_code == 303
    return SigningKey.objects.get(fingerprint=key.fingerprint)


def test_what_was_parsed_is_shown_before_anything_is_saved(browser):
    key = signing_key("ed25519")
    page = browser.post(ADD, {"armor": key.armor, "source": "Cooks", "source_url": ""})

    assert page.status_code == 200
    found = pages.text_of(page)
    assert "Ed25519 Tester <ed25519@example.com>" in found
    assert f"{key.fingerprint[:4]} {key.fingerprint[4:8]} " in found
    assert "Nothing is saved yet" in found
    assert not SigningKey.objects.exists()

    sent = {field.name: field.value() or "" for field in page.context["form"]}
    saved = browser.post(ADD, sent | {"step": "save"})
    assert saved.status_code == 303
    assert saved.headers["Location"] == f"{KEYS}/{key.fingerprint}"
    row = SigningKey.objects.get()
    assert (row.state, row.custody, row.source) == ("active", "publisher", "Cooks")
    assert AuditEvent.objects.filter(kind="namespace:key:registered").count() == 1


def test_something_can_be_changed_before_it_is_saved(browser):
    key = signing_key("ed25519")
    page = browser.post(ADD, {"armor": key.armor, "source": "Coks", "step": "change"})

    assert page.status_code == 200
    assert 'value="Coks"' in page.text
    assert key.armor.splitlines()[3] in page.text
    assert not SigningKey.objects.exists()


def test_a_private_key_is_refused_and_not_shown_again(browser):
    key = signing_key("ed25519")
    page = browser.post(ADD, {"armor": key.secret_armor})

    assert page.status_code == 422
    assert "must be revoked now" in pages.text_of(page)
    assert key.secret_armor.splitlines()[3] not in page.text
    assert browser.post(ADD, {"armor": key.secret_armor, "step": "save"}).status_code == 422
    assert key.secret_armor.splitlines()[3] not in str(dict(browser.session))
    assert not SigningKey.objects.exists()


@for_each_row(
    ("kind", "more", "status", "says"),
    [
        ("ed25519", {}, 409, "already registered in acme"),
        ("expired", {}, 422, "a key that expired on"),
        ("ed25519", {"source_url": "javascript:alert(1)"}, 422, "https://"),
    ],
)
def test_what_cannot_be_added_is_refused_in_the_form(browser, registered, kind, more, status, says):
    page = browser.post(ADD, {"armor": signing_key(kind).armor, "step": "save", **more})

    assert page.status_code == status
    assert says in pages.text_of(page)
    assert SigningKey.objects.count() == 1


# --- Made by a worker ------------------------------------------------------------------------------------------------


def test_a_key_is_asked_for_and_the_page_says_that_it_is_being_made(browser, bob, browser_of):
    assert browser.get(f"{KEYS}/create").status_code == 200
    assert browser.post(f"{KEYS}/create", {"algorithm": "ed25519"}).headers["Location"] == KEYS
    page = browser_of(bob).get(KEYS)

    assert "Being generated" in page.text
    assert f'hx-get="{KEYS}/status?seen=' in page.text
    assert "Reload to see progress" in page.text
    assert browser.post(f"{KEYS}/create", {"algorithm": "ed25519"}).status_code == 409
    assert browser.post(f"{KEYS}/create", {"algorithm": "dsa"}).status_code == 422


def test_the_poll_answers_only_what_has_changed(browser):
    browser.post(f"{KEYS}/create", {"algorithm": "ed25519"})
    seen = browser.get(KEYS).context["mark"]
    assert browser.get(f"{KEYS}/status?seen={seen}").status_code == 204

    fields = {"fingerprint": "A" * 40, "key_id": "A" * 16, "armor": "x", "state": "active"}
    SigningKey.objects.update(**fields)
    made = browser.get(f"{KEYS}/status?seen={seen}")
    assert made.status_code == 200
    assert "AAAA AAAA" in made.text
    assert "hx-get" not in made.text


def test_a_key_that_no_worker_could_make_says_so(browser):
    browser.post(f"{KEYS}/create", {"algorithm": "ed25519"})
    SigningKey.objects.update(reason="No worker could generate it.")
    page = browser.get(KEYS)

    assert "Not generated" in page.text
    assert "hx-get" not in page.text


# --- What is shown ---------------------------------------------------------------------------------------------------


def test_readers_see_the_keys_and_no_way_to_change_them(bob, browser_of, registered):
    for path in (KEYS, f"{KEYS}/{registered.fingerprint}"):
        page = browser_of(bob).get(path)
        assert page.status_code == 200
        assert " ".join(registered.fingerprint[n : n + 4] for n in range(0, 20, 4)) in page.text
        assert "/revoke" not in page.text
        assert ADD not in page.text


def test_a_key_says_what_it_has_signed(browser, registered, acme):
    for number in range(3):
        provider_version(acme, "cloud", f"1.{number}.0", key=registered)
    page = browser.get(f"{KEYS}/{registered.fingerprint}")

    assert [str(row) for row in page.context["page"].object_list] == [f"acme/cloud 1.{n}.0" for n in (2, 1, 0)]
    assert "First used" in page.text
    assert "3 releases" in browser.get(KEYS).text


def test_the_key_that_signs_new_versions_is_marked(browser, acme):
    """Of two active keys in Larder the newer one; a publisher's key signs nothing here."""
    older, newer = (row_of_key(acme, number, custody="registry") for number in (1, 2))
    row_of_key(acme, 3)
    for key in (older, newer):
        PrivateKey.objects.create(key=key, nonce=b"0", ciphertext=b"0")

    page = pages.markup_of(browser.get(KEYS))

    assert page.count("Signs new versions") == 1
    [row] = [row for row in page.split("<tr>") if "Signs new versions" in row]
    assert newer.fingerprint in row


def test_the_list_takes_as_many_queries_for_many_keys(browser, acme, django_assert_num_queries, registered):
    browser.get(KEYS)
    with django_assert_num_queries(7):
        browser.get(KEYS)
    for number in range(30):
        provider_version(acme, f"cloud{number}", "1.0.0", key=row_of_key(acme, number))
    with django_assert_num_queries(7):
        browser.get(KEYS)


@for_each_row(
    ("left", "tone", "says"),
    [
        (timedelta(days=59), "info", "expires in 5"),
        (timedelta(days=29), "warn", "expires in 2"),
        (timedelta(days=6, hours=1), "bad", "expires in 6 days"),
        (timedelta(days=-1), "bad", "has expired"),
        (timedelta(days=61), None, ""),
        (None, None, ""),
    ],
    ids=["in 59 days", "in 29 days", "in 6 days", "yesterday", "in 61 days", "never"],
)
def test_the_end_of_a_key_is_told_ahead(browser, acme, dora, browser_of, left, tone, says):
    key = row_of_key(acme, 1, expires_at=timezone.now() + left if left is not None else None)
    for path in (KEYS, "/namespaces/acme", f"{KEYS}/{key.fingerprint}"):
        page = browser.get(path).text
        assert says in page if tone else "callout" not in page, path
        if tone:
            assert f"callout--{tone}" in page


def test_only_owners_are_told_on_the_namespaces_page_and_nobody_of_a_retired_key(browser, bob, browser_of, acme):
    key = row_of_key(acme, 1, expires_at=timezone.now() + timedelta(days=3))
    assert "data-expiry" not in browser_of(bob).get("/namespaces/acme").text
    SigningKey.objects.filter(pk=key.pk).update(state="retired")
    assert "data-expiry" not in browser.get(KEYS).text


# --- Ending ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", ["retire", "revoke"])
def test_a_key_is_ended_with_a_reason_that_everybody_reads(browser, bob, browser_of, registered, acme, act):
    provider_version(acme, "cloud", "1.0.0", key=registered)
    url = f"{KEYS}/{registered.fingerprint}"
    asked = browser.get(f"{url}/{act}")
    assert asked.status_code == 200
    assert "acme/cloud" in asked.text
    assert browser.post(f"{url}/{act}", {"reason": " "}).status_code == 422

    done = browser.post(f"{url}/{act}", {"reason": "Its laptop\r\nwas stolen."})
    assert (done.status_code, done.headers["Location"]) == (303, url)
    registered.refresh_from_db()
    assert (registered.state, registered.reason) == (f"{act}d", "Its laptop was stolen.")
    assert "Its laptop was stolen." in browser_of(bob).get(url).text
    assert browser.post(f"{url}/{act}", {"reason": "Again."}).status_code == 409


@for_each_row(
    ("act", "figure"),
    [
        ("revoke", "configuration moves to 1.1.0"),
        ("retire", "configuration keeps working"),
    ],
)
def test_who_uses_what_it_signed_is_shown_and_notified(acme, alice, bob, dora, browser_of, settings, act, figure):
    """Dora ends it, Alice publishes there, and Bob's pipeline reported a version that it signed."""
    settings.SMTP = {"host": "127.0.0.1", "port": 1}
    User.objects.update(email="someone@acme.example")
    key = row_of_key(acme, 7, custody="registry")
    old = provider_version(acme, "dns", "1.0.0", key=key).release
    provider_version(acme, "dns", "1.1.0", key=row_of_key(acme, 8, custody="registry"))
    reported(bob, old, "acme/shop-infra", constraint="~> 1.0")
    url = f"{KEYS}/{key.fingerprint}/{act}"
    page = pages.shown(browser_of(dora).get(url))
    assert f"<span>{figure}</span>" in page
    assert "acme/shop-infra" in page
    assert "Notify the person behind them" in page

    done = browser_of(dora).post(url, {"reason": "Its laptop was stolen.", "notify": "on"}, follow=True)

    assert "Larder notifies 1 person." in done.text
    outbox.dispatch()
    found = {str(letter.user): letter for letter in Letter.objects.all()}
    assert {name: letter.topic for name, letter in found.items()} == {"alice": Topic.KEYS, "bob": Topic.WITHDRAWN}
    for letter in found.values():
        assert letter.subject == f"dora {act}d a signing key of acme"
        assert key.fingerprint in letter.text
        assert "Reason: Its laptop was stolen." in letter.text


def test_the_api_says_who_uses_what_it_signed_and_ends_nothing(acme, bob, dora, alice, tofu):
    key = row_of_key(acme, 7, custody="registry")
    reported(bob, provider_version(acme, "dns", "1.0.0", key=key).release, "acme/shop-infra", constraint="1.0.0")
    url = f"/api/v1/namespaces/acme/keys/{key.fingerprint}"

    revoked, retired = (tofu(dora).post(f"{url}/{act}?dry_run=1").json() for act in ("revoke", "retire"))
    assert (revoked["fails"], retired["fails"], retired["keeps"]) == (1, 0, 1)
    assert tofu(alice).post(f"{url}/revoke?dry_run=1").status_code == 403
    key.refresh_from_db()
    assert key.state == "active"


@pytest.mark.slow
def test_a_key_that_its_owner_has_extended_is_renewed(browser):
    key = signing_key("expiring")
    browser.post(ADD, {"armor": key.armor, "source": "Cooks", "step": "save"})
    assert 'data-expiry="warn"' in browser.get(KEYS).text
    saved = browser.post(ADD, {"armor": extended(key).armor, "step": "save"}, follow=True)

    assert "is updated to the newer version" in pages.text_of(saved)
    assert "data-expiry" not in browser.get(KEYS).text
    assert SigningKey.objects.get().source == "Cooks"
