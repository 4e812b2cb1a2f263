"""SAML answers that must not sign anybody in: forged, moved, replayed, late, or for somebody else."""

import dataclasses
import re
from pathlib import Path

import pytest
import structlog
from allauth.socialaccount.models import SocialAccount
from django.core.cache import cache
from onelogin.saml2.constants import OneLogin_Saml2_Constants as Constants
from onelogin.saml2.utils import OneLogin_Saml2_Utils as Utils

from apps.accounts.identity import sign_ins
from apps.accounts.identity.sign_on import provider_requests
from apps.accounts.models import User
from apps.audit.models import AuditEvent
from apps.contrib.saml.tests import scripted as saml
from apps.lib.settings_values.rates import Rate
from tests.accounts.identity.sign_on import begin, failed
from tests.accounts.identity.test_second_factor import signed_in

replace = dataclasses.replace
EMAIL = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"


def signed_around(acme, answer):
    """A signature of the response alone: the assertion in it has none."""
    return acme.key.sign(answer.around(answer.assertion()))


def beside(acme, answer):
    """The signed assertion stays, and a forged one comes first."""
    evil = replace(answer, subject="the-boss", id="_evil").assertion()
    return answer.around(evil + acme.key.sign(answer.assertion()))


def moved(acme, answer):
    """The forged assertion has the signature, and with it the assertion that was signed."""
    signed = acme.key.sign(answer.assertion())
    start, end = signed.index("<ds:Signature"), signed.index("</ds:Signature>")
    signature = signed[start:end]
    original = signed[:start] + signed[end + len("</ds:Signature>") :]
    evil = replace(answer, subject="the-boss", id="_evil").assertion()
    whole = f"{signature}<ds:Object>{original}</ds:Object></ds:Signature>"
    return answer.around(evil.replace("</saml:Issuer>", f"</saml:Issuer>{whole}", 1))


def moved_under_the_same_id(acme, answer):
    return moved(acme, answer).replace('ID="_evil"', 'ID="_assertion"')


def in_extensions(acme, answer):
    """The signed assertion lies elsewhere in the document, a forged one where it belongs."""
    signed = acme.key.sign(answer.assertion())
    evil = replace(answer, subject="the-boss", id="_evil").assertion()
    response = answer.around(evil)
    return response.replace("<samlp:Status>", f"<samlp:Extensions>{signed}</samlp:Extensions><samlp:Status>")


def with_sha_1(acme, answer):
    key, assertion = acme.key, answer.assertion()
    old = {"sign_algorithm": Constants.RSA_SHA1, "digest_algorithm": Constants.SHA1}
    return answer.around(Utils.add_sign(assertion, key.pem, key.certificate, **old).decode())


BAD = {
    "no_signature": lambda _acme, answer: answer.around(answer.assertion()),
    "a_signature_of_the_response_alone": signed_around,
    "another_key": lambda acme, answer: acme.signed(answer, saml.Key()),
    "a_changed_subject": lambda acme, answer: acme.signed(answer).replace(">a-1<", ">the-boss<"),
    "a_comment_in_the_subject": lambda acme, answer: acme.signed(replace(answer, subject="the-boss.x")).replace(
        "the-boss.x", "the-boss<!-- -->.x"
    ),
    "entities": lambda acme, answer: '<!DOCTYPE a [<!ENTITY b "a-1">]>' + acme.signed(answer),
    "wrapped_beside": beside,
    "wrapped_in_the_signature": moved,
    "wrapped_under_the_same_id": moved_under_the_same_id,
    "wrapped_in_extensions": in_extensions,
    "another_audience": lambda acme, answer: acme.signed(replace(answer, audience="https://elsewhere.example")),
    "no_audience": lambda acme, answer: acme.signed(replace(answer, audience="")),
    "another_recipient": lambda acme, answer: answer.around(
        acme.key.sign(replace(answer, recipient=f"{answer.recipient}/finish").assertion())
    ),
    "expired": lambda acme, answer: acme.signed(replace(answer, lifetime=-301)),
    "expired_within_the_library_s_leeway": lambda acme, answer: acme.signed(replace(answer, lifetime=-10)),
    "another_issuer": lambda acme, answer: acme.signed(replace(answer, issuer=saml.ISSUER + "/")),
    "another_request": lambda acme, answer: acme.signed(replace(answer, asked="_other")),
    "another_request_in_the_assertion": lambda acme, answer: answer.around(
        acme.key.sign(replace(answer, asked="_other").assertion())
    ),
    "no_request_in_the_assertion": lambda acme, answer: answer.around(
        acme.key.sign(replace(answer, asked="").assertion())
    ),
    "no_request_at_all": lambda acme, answer: acme.signed(replace(answer, asked="")),
    "no_end_in_the_assertion": lambda acme, answer: answer.around(
        acme.key.sign(re.sub('NotOnOrAfter="[^"]+" (?=Recipient)', "", answer.assertion()))
    ),
    "a_signature_with_sha_1": with_sha_1,
    "an_address_as_subject": lambda acme, answer: acme.signed(replace(answer, name_format=EMAIL)),
    "a_long_subject": lambda acme, answer: acme.signed(replace(answer, subject="s" * 192)),
    "an_empty_subject": lambda acme, answer: acme.signed(replace(answer, subject="")),
    "no_xml": lambda *_: "no answer",
    "nothing": lambda *_: "",
    "far_too_much": lambda *_: " " * 400_000,
}


@pytest.mark.parametrize("name", BAD)
def test_an_answer_that_is_not_right_signs_nobody_in(acme_id, browser, name):
    client = browser()
    answer = saml.post(client, BAD[name](acme_id, acme_id.answer(begin(client))))
    failed(answer, client, 400 if name == "another_request" else 403)
    assert b"the-boss" not in answer.content


def declared(encoding):
    return f'<?xml version="1.0" encoding="{encoding}"?>'


def utf7(text):
    """Return the text as the parser reads UTF-7; `<!` is not in it."""
    return text.replace("<!", "+ADwAIQ-").encode()


# What a parser reads as the same text, or would, if the bytes were of that encoding.
ENCODINGS = {
    "utf_16_with_a_byte_order_mark": lambda text: text.encode("utf-16"),
    "utf_16_big_endian_declared": lambda text: (declared("UTF-16BE") + text).encode("utf-16-be"),
    "utf_16_without_either": lambda text: text.encode("utf-16-le"),
    "utf_32_with_a_byte_order_mark": lambda text: text.encode("utf-32"),
    "utf_32_without_one": lambda text: text.encode("utf-32-be"),
    "utf_7": lambda text: utf7(declared("UTF-7") + text),
    "utf_7_in_single_quotes": lambda text: utf7("<?xml version='1.0'\n encoding = 'utf-7' ?>" + text),
    "utf_7_after_a_mark_of_utf_8": lambda text: b"\xef\xbb\xbf" + utf7(declared("UTF-7") + text),
    "utf_7_after_another_declaration": lambda text: utf7(
        """<?xml version="1.0 encoding='utf-8'" encoding="UTF-7"?>""" + text
    ),
    "latin_1": lambda text: (declared("ISO-8859-1") + text).encode(),
    "ebcdic": lambda text: (declared("IBM037") + text).encode("cp037"),
    "a_nul": lambda text: text.encode() + b"\0",
    "no_utf_8": lambda text: text.encode() + b"\xff",
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_answer_that_is_not_in_utf_8_signs_nobody_in(acme_id, browser, encoding):
    """The search for comments and doctypes would find none in it."""
    client = browser()
    xml = '<!DOCTYPE a [<!ENTITY b "a-1">]>' + acme_id.signed(acme_id.answer(begin(client)))
    with structlog.testing.capture_logs() as logged:
        failed(saml.post(client, ENCODINGS[encoding](xml)), client, 403)
    assert [line["reason"] for line in logged if "reason" in line] == ["not_utf8"]


@pytest.mark.parametrize(
    "start", [declared("UTF-8"), declared("utf-8"), "<?xml version='1.0'?>", "\N{BYTE ORDER MARK}" + declared("UTF-8")]
)
def test_an_answer_in_utf_8_signs_in_however_it_says_so(acme_id, browser, start):
    client = browser()
    assert saml.post(client, start + acme_id.signed(acme_id.answer(begin(client)))).status_code == 302
    assert signed_in(client)


@pytest.mark.parametrize("encoding", ["utf_16_with_a_byte_order_mark", "utf_7", "a_nul"])
def test_metadata_that_is_not_in_utf_8_begins_no_sign_in(acme_id, browser, encoding):
    Path(acme_id.source).write_bytes(ENCODINGS[encoding](acme_id.metadata()))
    client = browser()
    failed(client.post("/account/sign-on/corp/"), client, 503)


def test_an_answer_and_the_way_back_count_once(acme_id, browser):
    client = browser()
    xml = acme_id.signed(acme_id.answer(begin(client)))
    way = client.post("/account/sign-on/corp/acs", saml.form(xml)).url
    assert [client.get(way).status_code for _ in range(2)] == [302, 400]
    client.post("/account/logout/")
    assert saml.post(client, xml).status_code == 400
    assert not signed_in(client)


def test_an_answer_for_one_provider_does_not_sign_in_at_another(acme_id, browser, settings):
    other = acme_id.provider("other", issuer="https://other.example/idp")
    settings.IDENTITY_PROVIDERS = (*settings.IDENTITY_PROVIDERS, other)
    client = browser()
    xml = acme_id.signed(acme_id.answer(begin(client)))
    way = client.post("/account/sign-on/corp/acs", saml.form(xml)).url
    failed(client.get(way.replace("/corp/", "/other/")), client, 400)
    assert client.get(way).status_code == 302
    assert SocialAccount.objects.get().provider == saml.ISSUER


def test_the_answer_for_another_browser_signs_nobody_in(acme_id, browser):
    mine, theirs = browser(), browser()
    xml = acme_id.signed(acme_id.answer(begin(mine)))
    begin(theirs)
    answer = saml.post(theirs, xml)
    failed(answer, theirs, 400)
    assert b"started in another browser" in answer.content


def test_another_browser_s_assertion_in_an_answer_for_mine_signs_nobody_in(acme_id, browser):
    mine, theirs = browser(), browser()
    stolen = acme_id.answer(begin(theirs))
    asked = acme_id.answer(begin(mine)).asked
    answer = saml.post(mine, stolen.around(acme_id.key.sign(stolen.assertion()), asked=asked))
    failed(answer, mine, 403)


@pytest.mark.parametrize(
    "document",
    [
        lambda acme: acme.metadata("https://elsewhere.example"),
        lambda acme: acme.metadata().replace("HTTP-Redirect", "HTTP-POST"),
        lambda acme: acme.metadata().replace('"https://saml.acme.example/sign-in"', '"javascript:alert(1)"'),
        lambda acme: acme.metadata().replace("KeyDescriptor", "NoKey"),
        lambda acme: '<!DOCTYPE a [<!ENTITY b "c">]>' + acme.metadata(),
        lambda _acme: "<html>Not found",
        lambda _acme: "",
    ],
)
def test_metadata_that_is_not_right_begins_no_sign_in(acme_id, browser, document):
    Path(acme_id.source).write_text(document(acme_id))
    client = browser()
    failed(client.post("/account/sign-on/corp/"), client, 503)


def test_during_an_outage_the_last_metadata_counts(sign_on, acme_id, monkeypatch):
    sign_on()
    Path(acme_id.source).unlink()
    monkeypatch.setattr(provider_requests, "MAX_AGE_SECONDS", -1)
    client, _ = sign_on()
    assert signed_in(client)
    assert User.objects.count() == 1


@pytest.mark.both
def test_forged_answers_stop_nobody_who_signs_in_from_the_same_address(acme_id, browser, sign_on, settings):
    """They cost a page each, and an audit row up to the limit."""
    settings.RATES = settings.RATES | {"sign_in": Rate(1, 1000 * 3600)}
    cache.clear()
    client = browser()
    forged = [saml.post(client, "<forged/>").status_code for _ in range(sign_ins.TIMES_BY_SIGN_ON + 1)]

    assert forged[-1] == 429
    assert set(forged[:-1]) == {forged[0]}
    assert forged[0] < 429
    assert AuditEvent.objects.count() == sign_ins.TIMES_BY_SIGN_ON
    client, answer = sign_on()
    assert signed_in(client), answer.content
