"""D25: who has a second factor changes it only with one, shown in this browser in the last ten minutes."""

import json
import re
import time
from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib import admin
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.utils import timezone

from apps.audit.models import AuditEvent
from apps.portal.people import reauthentication
from tests.accounts.identity.openid.conftest import acme_id, begin, browser, key, sign_on
from tests.accounts.identity.test_passkeys import KEYS, register, show
from tests.accounts.identity.test_second_factor import PAGE, code_of, password, secret_on, set_up, signed_in
from tests.builders.passkeys import Passkey
from tests.sessions import confirm, next_of, sign_in
from tests.threads import at_once

__all__ = ["acme_id", "browser", "key", "sign_on"]

pytestmark = pytest.mark.both
CONFIRM = "/account/reauthenticate/"


@pytest.fixture(autouse=True)
def fresh_cache():
    cache.clear()


def row_of(user, kind):
    return Authenticator.objects.get(user=user, type=kind)


def renew(client, _):
    return client.post(f"{PAGE}/codes/renew")


def view(client, _):
    client.post(f"{PAGE}/codes/renew")
    return client.get(f"{PAGE}/codes")


def remove_app(client, _):
    """With a recovery code that it has just made."""
    made = re.findall(r"<li><code[^>]*>(\d+)</code>", client.post(f"{PAGE}/codes/renew", follow=True).text)
    return client.post(f"{PAGE}/off", {"code": made[0] if made else "000000"})


def remove_passkey(client, user):
    return client.post(f"{KEYS}/{row_of(user, Authenticator.Type.WEBAUTHN).pk}/remove")


def see(client, _):
    return client.get(PAGE)


def begin_app(client, _):
    return client.get(f"{PAGE}?app")


def add_app(client, _):
    return client.post(f"{PAGE}?app", {"digits": "000000"})


def ask_for_passkey(client, _):
    return client.get(f"{KEYS}/registration")


def add_passkey(client, _):
    return client.post(KEYS, {"name": "x", "credential": '{"id": "x"}'})


ATTACKS = [renew, view, remove_app, remove_passkey, see, begin_app, add_app, ask_for_passkey, add_passkey]


@pytest.fixture
def defended(bob, browser_of):
    """Bob's browser, the secret of his app, his recovery codes and his passkey."""
    client, passkey = browser_of(bob), Passkey()
    secret, codes = set_up(client)
    register(client, passkey)
    return client, secret, codes, passkey


def stored():
    return list(Authenticator.objects.order_by("pk").values_list("pk", "type", "data"))


def resurrect(rows):
    """Sessions that were open while the factor was enabled, in a release that did not end them."""
    Session.objects.bulk_create(rows, ignore_conflicts=True)


def leads_to(answer):
    return answer.json()["confirm"] if answer.status_code == 403 else answer.headers.get("Location", "")


@pytest.fixture(params=["before", "before, confirmed by password", "password", "sign-on"])
def attacker(request, bob, browser_of, settings):
    """The browser of somebody who has bob's session or his password, and nothing more."""

    def of():
        match request.param:
            case "before" | "before, confirmed by password":
                client = browser_of(bob, confirmed=False)
            case "password":
                client = browser_of(bob, confirmed=True)
            case "sign-on":
                client = browser_of(bob, confirmed=False)
                session = client.session
                session["sign-on"] = {"issuer": "https://acme.example", "sid": "s1"}
                session["confirmed-at"] = time.time()
                session.save()
        if "confirmed by password" in request.param:
            assert confirm(client, bob, "/tokens").url == "/tokens"
        return client

    return of, request.param.startswith("before")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_browser_without_the_factor_changes_none_of_it(bob, browser_of, attacker, attack):
    make, is_before = attacker
    early = make() if is_before else None
    rows = list(Session.objects.all())
    victim = browser_of(bob)
    set_up(victim)
    register(victim, Passkey())
    resurrect(rows)
    client, before = early or make(), stored()
    assert signed_in(client)

    answer = attack(client, bob)

    assert stored() == before
    assert leads_to(answer).startswith(CONFIRM)
    assert not re.search(r"<li><code[^>]*>\d+</code>", answer.content.decode())
    page = client.get(leads_to(answer))
    assert 'type="password"' not in page.text
    assert client.post(leads_to(answer), {"password": "bob likes pears"}).status_code == 403
    assert leads_to(attack(client, bob)).startswith(CONFIRM)
    assert stored() == before


def test_enabling_the_first_factor_ends_the_other_sessions_and_says_so(bob, browser_of, charlie):
    older, other = browser_of(bob), browser_of(charlie)
    client = browser_of(bob)
    page = client.get(PAGE).text
    assert "signs you out in all other browsers" in page
    shown = client.post(PAGE, {"digits": code_of(secret_on(page))})
    assert "You are signed out in all other browsers." in client.get(shown.url).text
    assert [signed_in(one) for one in (client, older, other)] == [True, False, True]
    assert older.post(f"{PAGE}/codes/renew").url.startswith("/account/login/")
    event = AuditEvent.objects.get(kind="account:user:sessions-ended")
    assert (event.actor_id, event.detail["count"]) == (bob.pk, 1)

    again = browser_of(bob)
    register(client, Passkey())
    assert signed_in(again), "it asks for a factor, which the second one does not change"


def test_a_first_passkey_ends_them_too(bob, browser_of):
    older, client = browser_of(bob), browser_of(bob)
    register(client, Passkey())
    assert "Passkey added. You are signed out in all other browsers." in client.get(PAGE).text
    assert [signed_in(one) for one in (client, older)] == [True, False]


def test_an_older_session_is_asked_and_goes_on(bob, defended, browser_of):
    """Nobody is locked out: the form waits for the factor."""
    _, secret, _, passkey = defended
    client = browser_of(bob)
    asked = client.post(f"{PAGE}/codes/renew")
    page = client.get(asked.url).text
    assert ("Confirm with a passkey" in page, 'name="code"' in page) == (True, True)
    done = client.post(asked.url, {"code": code_of(secret)})
    assert "Make new recovery codes?" in client.get(done.url).text
    shown = client.post(f"{PAGE}/codes/renew", follow=True).text
    assert len(re.findall(r"<li><code[^>]*>(\d+)</code>", shown)) == 10

    by_passkey = browser_of(bob)
    asked = by_passkey.get(PAGE)
    assert show(by_passkey, passkey, asked.url).url == PAGE
    assert by_passkey.post(f"{PAGE}/off").status_code == 303


def test_a_wrong_code_asks_again_for_a_factor_and_for_nothing_else(bob, defended, browser_of):
    client = browser_of(bob)
    asked = client.get(PAGE)
    again = client.post(asked.url, {"code": "000000"})
    assert (again.status_code, 'type="password"' in again.text) == (200, False)
    assert 'action="/account/reauthenticate/?next=%2Faccount%2Fsecond-factor&amp;by=factor"' in again.text


def test_a_factor_counts_for_ten_minutes(bob, defended, time_machine):
    client = defended[0]
    time_machine.move_to(timezone.now() + timedelta(minutes=9, seconds=50))
    assert client.get(PAGE).status_code == 200
    time_machine.move_to(timezone.now() + timedelta(minutes=10, seconds=1))
    assert client.get(PAGE).url.startswith(CONFIRM)


def test_a_password_is_still_enough_for_the_rest(bob, defended, browser_of):
    client = browser_of(bob, confirmed=False)
    asked = client.post("/tokens", {"label": "CI", "scope": "read", "days": "30"})
    assert 'type="password"' in client.get(asked.url).text
    assert confirm(client, bob, next_of(asked)).status_code == 302
    assert client.get(next_of(asked)).status_code == 200


def test_a_factor_that_was_removed_meanwhile_does_not_count(bob, defended, browser_of):
    """The finder of a passkey has signed in with it; bob removes it."""
    client, _, _, passkey = defended
    finder = browser_of(bob, confirmed=False)
    assert show(finder, passkey, f"{CONFIRM}?next={PAGE}&by=factor").url == PAGE
    assert finder.get(PAGE).status_code == 200
    assert remove_passkey(client, bob).status_code == 303
    assert finder.get(PAGE).url.startswith(CONFIRM)
    assert finder.post(f"{PAGE}/codes/renew").url.startswith(CONFIRM)


def test_recovery_codes_count_as_a_factor_for_who_lost_it(bob, defended, browser_of):
    _, _, codes, _ = defended
    client, answer = password(bob)
    client.post(answer.url, {"code": codes[0]})
    for act in (remove_app, remove_passkey):
        assert act(client, bob).status_code == 303
    assert not Authenticator.objects.exists()
    set_up(client)
    assert password(bob)[1].url == "/account/verify/"


def test_a_passkey_alone_offers_codes_while_there_are_any(bob, browser_of):
    victim, passkey = browser_of(bob), Passkey()
    codes = re.findall(r"<li><code[^>]*>(\d+)</code>", victim.get(register(victim, passkey).url).text)
    for code in codes:
        client = browser_of(bob)
        asked = client.get(PAGE)
        assert "One of your recovery codes." in client.get(asked.url).text
        assert client.post(asked.url, {"code": code}).url == PAGE
    asked = browser_of(bob).get(PAGE)
    client = browser_of(bob)
    page = client.get(asked.url).text
    assert ('name="code"' in page, 'type="password"' in page) == (False, False)
    assert "Passkeys need JavaScript." in page
    assert show(client, passkey, asked.url).url == PAGE


def test_who_has_no_factor_confirms_as_before(bob, browser_of):
    client = browser_of(bob, confirmed=False)
    asked = client.get(PAGE)
    assert 'type="password"' in client.get(asked.url).text
    assert confirm(client, bob, PAGE).url == PAGE
    assert client.get(PAGE).status_code == 200


@pytest.fixture
def ann(acme_id, browser, sign_on, settings):
    """Comes from the provider and has set up an app: a later browser of hers, and the app's secret."""
    settings.OIDC_PROVIDERS = (acme_id.provider(second_factors=frozenset({"mfa"})),)
    acme_id.person |= {"auth_time": int(time.time())}
    client, _ = sign_on()
    secret, _ = set_up(client)
    return sign_in(browser(), SocialAccount.objects.get().user, confirmed=False), secret


@pytest.mark.parametrize(("amr", "counts"), [(["pwd", "mfa"], True), (["pwd"], False)])
def test_a_sign_on_counts_only_if_the_provider_asked_for_a_second_factor(ann, acme_id, amr, counts):
    client, _ = ann
    page = client.get(client.get(PAGE).url).text
    assert ("Confirm with" in page, 'name="code"' in page) == (True, True)
    acme_id.person |= {"amr": amr, "auth_time": int(time.time())}
    assert client.get(acme_id.consent(begin(client, process="confirm", next=PAGE))).url == PAGE
    assert (client.get(PAGE).status_code == 200) == counts


def test_a_provider_that_tells_of_no_second_factor_is_not_offered(ann, acme_id, settings):
    client, secret = ann
    settings.OIDC_PROVIDERS = (acme_id.provider(),)
    asked = client.get(PAGE)
    page = client.get(asked.url).text
    assert ("/account/sign-on/" in page, 'name="code"' in page) == (False, True)
    assert client.post(asked.url, {"code": code_of(secret)}).url == PAGE


def test_identities_are_connected_and_disconnected_with_a_factor(acme_id, browser, bob, settings):
    """An identity of the attacker's would confirm for bob, if its provider counts as a second factor."""
    settings.OIDC_PROVIDERS = (acme_id.provider(second_factors=frozenset({"mfa"})),)
    victim = sign_in(browser(), bob)
    secret, _ = set_up(victim)
    client = sign_in(browser(), bob)
    asked = client.post("/account/sign-on/corp/", {"process": "connect"})
    assert asked.url == f"{CONFIRM}?next=%2Faccount%2F&by=factor"
    row = SocialAccount.objects.create(user=bob, provider=acme_id.issuer, uid="b-1")
    assert client.post(f"/account/identities/{row.pk}/disconnect").url == asked.url
    assert SocialAccount.objects.filter(pk=row.pk).exists()
    client.post(asked.url, {"code": code_of(secret)})
    assert client.post(f"/account/identities/{row.pk}/disconnect").status_code == 303


def test_sessions_of_an_older_release_are_asked_and_keep_what_they_may(bob, defended, browser_of, settings):
    """They say that a factor was shown, and not when."""
    _, secret, *_ = defended
    client = browser_of(bob, confirmed=False)
    session = client.session
    session["second-factor-seen"] = True
    session.save()
    settings.SECOND_FACTOR = "everyone"
    assert signed_in(client)
    asked = client.get(PAGE)
    assert asked.url.startswith(CONFIRM)
    assert client.post(asked.url, {"code": code_of(secret)}).url == PAGE
    assert client.get(PAGE).status_code == 200


PAST_THE_PAGE = [renew, remove_app, remove_passkey, add_app, add_passkey]


@pytest.mark.parametrize("attack", PAST_THE_PAGE, ids=lambda attack: attack.__name__)
def test_the_verbs_ask_again(bob, defended, browser_of, attack, monkeypatch):
    """Another browser may have added the first factor since the page asked."""
    if attack is add_app:
        Authenticator.objects.filter(type=Authenticator.Type.TOTP).delete()
    client, before = browser_of(bob), stored()
    monkeypatch.setattr(reauthentication, "confirmed_recently", lambda *_, **__: True)
    client.get(f"{PAGE}?app")
    answer = attack(client, bob)
    assert (answer.status_code, stored()) == (409, before)


@pytest.mark.django_db(transaction=True)
def test_of_two_browsers_that_add_the_first_factor_at_once_one_does(bob, browser_of):
    app, passkey = browser_of(bob), browser_of(bob)
    digits = code_of(secret_on(app.get(PAGE).text))
    options = passkey.get(f"{KEYS}/registration").json()
    form = {"name": "x", "credential": json.dumps(Passkey().created(options))}
    at_once(
        lambda: app.post(PAGE, {"digits": digits}),
        lambda: passkey.post(KEYS, form),
    )
    assert Authenticator.objects.exclude(type=Authenticator.Type.RECOVERY_CODES).count() == 1


def test_the_admin_has_no_page_of_factors():
    assert not admin.site.is_registered(Authenticator)
