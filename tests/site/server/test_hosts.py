"""Under which names Larder answers, and what it says where it is asked for under another."""

import pytest
from django.test import Client

from tests.rows import for_each_row
from tests.site.startup.test_settings import settings_with


@pytest.fixture
def asked(db, settings):
    settings.ALLOWED_HOSTS = ["larder.example"]
    settings.PUBLIC_URL, settings.PUBLIC_HOST = "https://larder.example", "larder.example"

    def ask(url: str, host: str):
        return Client(raise_request_exception=False).get(url, headers={"Host": host})

    return ask


SENTENCE = (
    "This Larder answers to larder.example, but the request used another name. "
    "Use https://larder.example. Operators set the address with LARDER_PUBLIC_URL."
)


@for_each_row("url", ["/v1/modules", "/.well-known/terraform.json", "/archives/x"])
@for_each_row("host", ["wrong.example", "10.0.0.7:8443", "no host at all"])
def test_another_host_is_refused_in_a_document(asked, url, host):
    answer = asked(url, host)

    assert (answer.status_code, answer["Content-Type"]) == (400, "application/json")
    assert answer.json() == {"errors": [SENTENCE]}
    assert "X-Request-Id" in answer


def test_clients_of_the_api_and_of_oci_read_their_own_kinds_of_error(asked):
    message, hint = SENTENCE.split(". ", 1)
    error = {"code": "invalid", "message": f"{message}.", "hint": hint, "reasons": []}

    assert asked("/api/v1/nothing", "wrong.example").json() == {"error": error}
    for url in ("/v2", "/v2/", "/v2/acme/vpc/aws/tags/list"):
        answer = asked(url, "wrong.example")
        assert answer.status_code == 400
        assert answer.json() == {"errors": [{"code": "UNSUPPORTED", "message": SENTENCE}]}


@for_each_row("url", ["/", "/modules", "/admin/"])
def test_people_read_a_page_that_does_not_name_it(asked, url):
    answer = asked(url, "wrong.example")

    page = answer.content.decode()
    assert (answer.status_code, answer["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert "This Larder answers to larder.example" in page
    assert "LARDER_PUBLIC_URL" in page
    assert "wrong" not in page


@for_each_row(("url", "status"), [("/healthz", 200), ("/readyz", 200), ("/metrics", 404), ("/static/none.css", 404)])
def test_a_probe_may_ask_by_any_address(asked, url, status):
    """A cluster asks a process by its address; no worker has reported to this one. The page above has a style."""
    assert asked(url, "10.0.0.7:8443").status_code == status


@pytest.mark.parametrize("host", ["registry.bücher.example", "registry.xn--bcher-kva.example"])
def test_a_host_name_with_other_letters_is_compared_in_ascii(tmp_path, host):
    names = ("ALLOWED_HOSTS", "HOSTNAMES", "CSRF_TRUSTED_ORIGINS")
    wire = "registry.xn--bcher-kva.example"

    found = settings_with(tmp_path, "PUBLIC_URL", *names, LARDER_PUBLIC_URL=f"https://{host}:8443")

    assert found["PUBLIC_URL"] == f"https://{wire}:8443"
    every = [one for name in names for one in found[name]]
    assert every.count(wire) == 2
    assert "".join(every).isascii()


def test_the_names_of_addresses_are_answered_too(tmp_path):
    named = {"LARDER_PUBLIC_URL": "https://larder.example", "LARDER_HOSTNAMES": "tofu.example,bücher.example"}
    answered = settings_with(tmp_path, "ALLOWED_HOSTS", **named)["ALLOWED_HOSTS"]

    assert {"larder.example", "tofu.example", "xn--bcher-kva.example", "localhost"} <= set(answered)
