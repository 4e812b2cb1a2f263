"""Signing in with SAML: what only this protocol has, and the accounts and groups of every protocol."""

import os
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.conf import settings as real

from apps.accounts.models import GroupMapping
from apps.contrib.saml.tests import scripted as saml
from tests.accounts.identity import every_protocol
from tests.accounts.identity.sign_on import begin, viewer_of

ACS = "https://127.0.0.1:8443/account/sign-on/corp/acs"

# The tests of accounts and groups, with `corp` below. One has `pytest.mark.both`.
globals().update({name: test for name, test in vars(every_protocol).items() if name.startswith("test_")})


class Saml(every_protocol.Corp):
    words = {"name": "displayName", "email": "email", "username": "uid", "groups": "groups"}

    def says(self, **about: Any) -> None:
        lists = {word: value if isinstance(value, list) else [value] for word, value in about.items()}
        self.scripted.person |= {self.words[word]: value for word, value in lists.items()}

    def finish(self, client: Any, url: str) -> Any:
        return saml.post(client, self.scripted.signed(self.scripted.answer(url)))


@pytest.fixture
def corp(acme_id, settings) -> Saml:
    return Saml(acme_id, settings, saml.ISSUER)


def test_the_request_asks_for_a_persistent_name_and_an_answer_by_post(acme_id, browser):
    urls = [begin(browser()) for _ in range(2)]
    first, second = (saml.request_of(url) for url in urls)
    assert urls[0].startswith(f"{saml.SIGN_IN}?SAMLRequest=")
    assert first.get("ID") != second.get("ID")
    assert first.get("AssertionConsumerServiceURL") == ACS
    assert str(first.get("ProtocolBinding")).endswith(":HTTP-POST")
    assert first.get("ForceAuthn") is None
    policies = list(first.iter("{urn:oasis:names:tc:SAML:2.0:protocol}NameIDPolicy"))
    assert [policy.get("Format") for policy in policies] == [saml.PERSISTENT]


def test_larder_s_metadata_names_the_entity_and_where_answers_go(acme_id, browser):
    answer = browser().get("/account/sign-on/corp/metadata")
    assert answer["Content-Type"] == "application/samlmetadata+xml"
    found = ET.fromstring(answer.content)  # noqa: S314  # Larder wrote it
    services = list(found.iter("{urn:oasis:names:tc:SAML:2.0:metadata}AssertionConsumerService"))
    assert found.get("entityID") == "https://127.0.0.1:8443/account/sign-on/corp/metadata"
    post = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
    assert [(one.get("Location"), one.get("Binding")) for one in services] == [(ACS, post)]
    assert b'WantAssertionsSigned="true"' in answer.content
    assert b"SingleLogout" not in answer.content


def test_a_list_of_groups_that_is_elsewhere_ends_no_role(sign_on, acme_id):
    GroupMapping.objects.create(issuer=saml.ISSUER, group="ops", staff_role="Operator")
    acme_id.person["groups"] = ["ops"]
    client, _ = sign_on()
    acme_id.person |= {"groups": [], "http://schemas.microsoft.com/claims/groups.link": ["https://graph.example"]}
    _, answer = sign_on()
    assert answer.status_code == 400
    assert viewer_of(client).is_staff


def test_a_context_that_the_settings_name_is_a_second_factor(sign_on, acme_id, settings):
    settings.SECOND_FACTOR = "everyone"
    client, _ = sign_on()
    assert viewer_of(client) is None
    settings.IDENTITY_PROVIDERS = (acme_id.provider(second_factors=frozenset({"urn:mfa"})),)
    acme_id.changes["context"] = "urn:mfa"
    client, _ = sign_on()
    assert viewer_of(client) is not None


def test_a_confirmation_asks_the_provider_to_sign_in_again_and_takes_no_older_one(sign_on, acme_id):
    client, _ = sign_on()
    url = begin(client, process="confirm", next="/teams")
    assert saml.request_of(url).get("ForceAuthn") == "true"
    old = saml.post(client, acme_id.signed(acme_id.answer(url, authenticated=-3600)))
    assert old.status_code == 403
    assert b"did not ask you to sign in again" in old.content
    _, answer = sign_on(client, process="confirm", next="/teams")
    assert (answer.status_code, answer.url) == (302, "/teams")


def test_the_answer_s_post_sets_no_cookie_and_no_session_of_its_sender(acme_id, browser):
    """Browsers send it from another site: without the cookies of Larder."""
    client = browser(enforce_csrf_checks=True)
    page = client.get("/account/login/")
    token = page.cookies[real.CSRF_COOKIE_NAME].value
    xml = acme_id.signed(acme_id.answer(begin(client, csrfmiddlewaretoken=token)))
    elsewhere = browser(enforce_csrf_checks=True)
    answer = elsewhere.post("/account/sign-on/corp/acs", saml.form(xml))
    assert (answer.status_code, dict(answer.cookies)) == (303, {})
    assert client.get(answer.url).status_code == 302
    assert viewer_of(client).username == "ann"


def test_the_ways_of_the_other_protocol_do_not_exist(acme_id, browser):
    client = browser()
    assert client.get("/account/sign-on/corp/callback").status_code == 404
    assert client.post("/account/sign-on/corp/logout").status_code == 404


@pytest.mark.slow
def test_nothing_of_saml_is_loaded_at_the_start():
    code = (
        "import django; django.setup(); import registry_site.urls, sys; "
        "print([name for name in ('onelogin', 'xmlsec', 'lxml') if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"


def test_a_larder_that_shall_speak_saml_without_its_packages_stops_at_the_start(acme_id):
    code = "import sys; sys.modules['xmlsec'] = None; import registry_site.settings"
    asked = {
        "LARDER_SAML_PROVIDERS": f"corp={acme_id.source}",
        "LARDER_SAML_ENTITY_IDS": f"corp={acme_id.provider().issuer}",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ | asked
    )
    assert done.returncode != 0
    assert "LARDER_SAML_PROVIDERS names corp" in done.stderr
    assert "found no xmlsec" in done.stderr
    assert "pip install --require-hashes -r requirements-extras.txt" in done.stderr
