"""`next` leads to a page of Larder, wherever a page takes it; the rest leads to the page that would come anyway."""

from urllib.parse import urljoin, urlsplit

from django.core.cache import cache
from django.test import Client

from tests.accounts.identity.test_second_factor import code_of, with_factor
from tests.rows import for_each_row

__all__ = ["with_factor"]

HOME = "https://127.0.0.1:8443/"
FOREIGN = [
    "https://evil.example/",
    "//evil.example/tokens",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https:evil.example",
    "http:///evil.example",
    "/\t/evil.example",
    "javascript:alert(1)",
    "https://127.0.0.1:8443@evil.example/",
]


def leads_home(answer):
    """Read a Location like browsers: tabs and line ends vanish, backslashes are slashes."""
    place = answer.headers.get("Location", "").translate({9: None, 10: None, 13: None}).replace("\\", "/")
    parts = urlsplit(urljoin(HOME, place))
    return answer.status_code in (302, 303) and (parts.scheme, parts.netloc) == ("https", "127.0.0.1:8443")


def by_password(client, where):
    return client.post(f"/account/login/{where}", {"login": "bob", "password": "bob likes pears"})


@for_each_row("after", FOREIGN)
def test_no_page_leads_elsewhere(bob, after):
    client = Client()
    password = {"password": "bob likes pears"}
    new = {"oldpassword": "bob likes pears", "password1": "ripe plums in august", "password2": "ripe plums in august"}
    assert leads_home(client.post("/theme", {"theme": "dark", "next": after}))
    assert leads_home(client.post("/account/login/", {"login": "bob", **password, "next": after}))
    if after not in FOREIGN[:2]:  # the others ask as the sign-in does
        return
    assert leads_home(client.post("/account/reauthenticate/", {**password, "next": after}))
    assert leads_home(client.post("/account/password/change/", {**new, "next": after}))
    assert leads_home(client.post("/account/logout/", {"next": after}))


def test_the_page_of_the_second_factor_leads_nowhere_else(bob, with_factor):
    _, secret, _ = with_factor
    for periods, after in ((0, FOREIGN[0]), (1, FOREIGN[1])):
        cache.clear()
        client = Client()
        asked = by_password(client, f"?next={after}")
        assert leads_home(asked)
        assert leads_home(client.post(asked.url, {"code": code_of(secret, periods), "next": after}))


def test_a_page_of_larder_is_led_to(bob):
    assert by_password(Client(), "?next=/tokens").headers["Location"] == "/tokens"
