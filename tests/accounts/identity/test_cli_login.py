"""login.v1: a code is exchanged once, within a minute, by who has the verifier (A22)."""

import base64
import hashlib
from datetime import timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import cli_login, tokens
from apps.accounts.models import ApiToken, LoginCode
from apps.accounts.people import accounts
from apps.accounts.tasks import prune_sessions
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.errors import Invalid
from apps.lib.settings_values.rates import Rate
from tests.rows import for_each_row
from tests.sessions import sign_in
from tests.threads import at_once

VERIFIER = "e0796337-3a38-72ca-b187-1f4b0e7a7a1b.862463060"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
REDIRECT = "http://localhost:10006/login"
ASKED = {
    "client_id": cli_login.CLIENT_ID,
    "code_challenge": CHALLENGE,
    "code_challenge_method": "S256",
    "redirect_uri": REDIRECT,
    "response_type": "code",
    "state": "653fd18f-6b1a",
}
TOFU = {"User-Agent": "OpenTofu/1.12.6"}


def allowed(browser, **more):
    """The code after pressing the button."""
    answer = browser.post("/oauth/authorize", ASKED | {"machine": "desk", "decision": "allow"}, **more)
    assert answer.status_code == 303, answer.content.decode()
    return parse_qs(urlsplit(answer.url).query)["code"][0]


def exchange(code, headers=TOFU, **wrong):
    form = {
        "client_id": cli_login.CLIENT_ID,
        "code": code,
        "code_verifier": VERIFIER,
        "grant_type": "authorization_code",
        "redirect_uri": REDIRECT,
    }
    address = {"REMOTE_ADDR": wrong.pop("address", "127.0.0.1")}
    kind = wrong.pop("content_type", "application/x-www-form-urlencoded")
    sent = {name: value for name, value in (form | wrong).items() if value is not None}
    return Client(headers=headers).post("/oauth/token", urlencode(sent), content_type=kind, **address)


def refused(answer, code="invalid_grant"):
    assert answer.status_code == 400, answer.content
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert set(answer.json()) == {"error", "error_description"}
    assert answer.json()["error"] == code
    return answer.json()["error_description"]


@pytest.fixture
def browser(alice, browser_of):
    return browser_of(alice)


def test_it_gives_a_token_that_reads_as_its_person(browser, alice, published, settings):
    published()
    answer = exchange(allowed(browser))

    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    document = answer.json()
    assert (document["token_type"], document["scope"]) == ("Bearer", "read")
    assert document["expires_in"] == settings.TOKEN_LIFETIME.total_seconds()
    secret = document["access_token"]
    assert secret.startswith("lrd_l_")
    token = tokens.identify(secret)
    assert (token.user, token.label, token.scope) == (alice, "tofu login on desk", "read")
    headers = {"Authorization": f"Bearer {secret}"}
    assert Client(headers=headers).get("/v1/modules/acme/vpc/aws/versions").status_code == 200
    assert Client(headers=headers).put("/api/v1/namespaces/acme", {}, "application/json").status_code == 403
    kinds = list(AuditEvent.objects.filter(actor_id=alice.pk).order_by("pk").values_list("kind", flat=True))[-3:-1]
    assert kinds == [Kind.LOGIN_ALLOWED, Kind.TOKEN_ISSUED]


@for_each_row(
    ("wrong", "said"),
    [
        ({"code_verifier": VERIFIER[:-1] + "1"}, "code_verifier"),
        ({"code_verifier": CHALLENGE}, "code_verifier"),  # as `plain` would have it
        ({"code_verifier": None}, "code_verifier"),
        ({"redirect_uri": "http://localhost:10007/login"}, "redirect_uri"),
        ({"redirect_uri": None}, "redirect_uri"),
    ],
)
def test_a_wrong_proof_gives_nothing_and_spends_the_code(browser, wrong, said):
    code = allowed(browser)

    assert said in refused(exchange(code, **wrong))
    assert "used before" in refused(exchange(code))
    assert not ApiToken.objects.exists()
    assert AuditEvent.objects.filter(kind=Kind.LOGIN_REFUSED).count() == 2


@pytest.mark.both
@for_each_row(
    ("wrong", "error"),
    [
        ({"client_id": "terraform-cli"}, "invalid_client"),
        ({"client_id": None}, "invalid_client"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": None}, "unsupported_grant_type"),
        ({}, "invalid_grant"),
        ({"content_type": "application/json"}, "invalid_request"),
    ],
)
def test_what_names_no_code_of_ours_is_refused_in_the_form_of_oauth(db, wrong, error):
    for code in ("x" * 43, "", None, b"\xed\xa0\x80\0"):
        refused(exchange(code, **wrong), error)


def test_a_parameter_that_comes_twice_is_refused(db):
    answer = Client().post("/oauth/token", "code=a&code=b", content_type="application/x-www-form-urlencoded")
    assert "was sent 2 times" in refused(answer, "invalid_request")


@for_each_row("method", ["get", "put", "delete"])
def test_other_methods_are_refused_in_the_form_of_oauth(db, method):
    answer = getattr(Client(), method)("/oauth/token")
    assert (answer.status_code, answer.json()["error"]) == (405, "invalid_request")


def test_a_cookie_or_a_token_is_no_code(browser, alice, bearer):
    form, kind = "grant_type=authorization_code&client_id=larder-cli", "application/x-www-form-urlencoded"
    refused(browser.post("/oauth/token", form, content_type=kind))
    refused(browser.post("/oauth/token", form, content_type=kind, headers=bearer(alice)))


@for_each_row(("seconds", "status"), [(59, 200), (61, 400)])
def test_a_code_lasts_a_minute(browser, seconds, status):
    code = allowed(browser)
    row = LoginCode.objects.get()
    assert row.expires_at - row.created_at == pytest.approx(timedelta(seconds=60), abs=timedelta(seconds=5))
    LoginCode.objects.update(expires_at=timezone.now() + timedelta(seconds=60 - seconds))

    assert exchange(code).status_code == status


def test_a_second_use_revokes_the_token(browser):
    code = allowed(browser)
    secret = exchange(code).json()["access_token"]

    refused(exchange(code, code_verifier="a" * 43))

    with pytest.raises(tokens.TokenRefused, match="revoked"):
        tokens.identify(secret)


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_has_a_token(browser):
    code = allowed(browser)

    answers = at_once(*[lambda: exchange(code).status_code] * 8)

    assert sorted(answers) == [200] + [400] * 7
    assert ApiToken.objects.count() == 1


def deactivate(_browser, alice, olga):
    accounts.change(user=alice, actor=Viewer(olga), is_active=False, is_staff=False, is_superuser=False)


def sign_out(browser, *_):
    browser.post("/account/logout/")


def expire(*_):
    Session.objects.update(expire_date=timezone.now())  # the row stays until it is pruned


ENDED = "a session that has ended"


@pytest.mark.parametrize(("end", "said"), [(deactivate, "deactivated"), (sign_out, ENDED), (expire, ENDED)])
def test_a_person_who_is_out_meanwhile_gets_none(browser, alice, olga, end, said):
    code = allowed(browser)
    end(browser, alice, olga)

    assert said in refused(exchange(code))
    assert not ApiToken.objects.exists()


def login(browser, **more):
    return tokens.identify(exchange(allowed(browser), **more).json()["access_token"])


def usable():
    return set(ApiToken.objects.usable(timezone.now()).values_list("pk", flat=True))


def test_another_login_of_the_same_program_on_the_same_computer_replaces_the_token(browser, alice, bob, browser_of):
    first = login(browser)
    terraforms = login(browser, headers={"User-Agent": "Terraform/1.11.4"})
    over_ssh = login(browser, address="10.0.0.9")
    elsewhere = login(browser_of(alice))
    assert terraforms.label == "terraform login on desk"
    assert usable() == {first.pk, terraforms.pk, over_ssh.pk, elsewhere.pk}

    again = login(browser)

    assert usable() == {again.pk, terraforms.pk, over_ssh.pk, elsewhere.pk}
    assert AuditEvent.objects.filter(kind=Kind.TOKEN_REVOKED, subject=f"token/{first.pk}").exists()
    sign_in(browser, bob)
    his = login(browser)
    assert usable() == {his.pk, again.pk, terraforms.pk, over_ssh.pk, elsewhere.pk}, "another person replaces nothing"


def test_no_code_is_stored_and_old_rows_go(browser):
    code = allowed(browser)
    assert code not in str(LoginCode.objects.values())
    prune_sessions()
    assert LoginCode.objects.count() == 1

    LoginCode.objects.update(expires_at=timezone.now() - cli_login.CODE_MEMORY)
    prune_sessions()

    assert not LoginCode.objects.exists()


def test_wrong_codes_are_limited_by_address_and_right_ones_never(browser, settings):
    settings.RATES = settings.RATES | {"tokens": Rate(3, 3600)}
    cache.clear()
    wrong = [exchange("nonsense", address="192.0.2.1") for _ in range(5)]
    assert [answer.status_code for answer in wrong] == [400, 400, 400, 429, 429]
    assert (wrong[-1].json()["error"], wrong[-1].headers["Retry-After"]) == ("slow_down", "5")
    assert exchange("nonsense", address="192.0.2.2").status_code == 400
    assert exchange(allowed(browser), address="192.0.2.1").status_code == 200


@for_each_row(
    "wrong",
    [
        {"client_id": "terraform-cli"},
        {"response_type": "token"},
        *({"code_challenge": text} for text in ("", "a" * 42, "a" * 42 + "=", f"{CHALLENGE}\n")),
        *({"code_challenge_method": text} for text in ("plain", "")),
        *({"state": text} for text in ("", "x" * 1001)),
        {"redirect_uri": "https://evil.example/login"},
        {"redirect_uri": "http://localhost:10006@evil.example/login"},
        {"redirect_uri": "http://localhost.evil.example:10006/login"},
        {"redirect_uri": "http://127.0.0.1:10006/login"},
        {"redirect_uri": "https://localhost:10006/login"},
        *({"redirect_uri": f"{REDIRECT}{end}"} for end in ("/", "?x=1", "\n")),
        *({"redirect_uri": f"http://localhost{rest}"} for rest in (":10006/", "/login", ":9999/login", ":10051/login")),
        {"redirect_uri": "http://localhost:١٠٠٠٦/login"},
        {"redirect_uri": ""},
    ],
    ids=str,
)
def test_a_request_with_a_parameter_of_another_form_is_none(wrong):
    assert cli_login.login_request(ASKED | {"state": "x" * 1000}).state == "x" * 1000
    with pytest.raises(Invalid, match=next(iter(wrong))):
        cli_login.login_request(ASKED | wrong)


@for_each_row("name", ["", " \n ", "x" * 41, "de\x07sk", "de\u202esk"])
def test_a_computer_has_a_short_name_that_can_be_printed(alice, name):
    asked = cli_login.login_request(ASKED)
    with pytest.raises(Invalid, match="name of a computer"):
        cli_login.allow(request=asked, actor=Viewer(alice), machine=name, browser="b", address="127.0.0.1")
    assert not LoginCode.objects.exists()
