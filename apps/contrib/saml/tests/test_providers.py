"""Providers of SAML: what the old variables say together, and what is refused at the start."""

import pytest

from apps.contrib.saml.providers import SamlProvider
from apps.lib.errors import Invalid
from registry_site import identity_providers, rooms
from registry_site.rooms import left_out
from registry_site.startup import checks, variables
from tests.rows import for_each_row

PARTS = ("ENTITY_IDS", "NAMES", "GROUPS_ATTRIBUTES", "NEW_ACCOUNTS", "SECOND_FACTORS")
URL = "corp=https://a.example/metadata"


def parse(providers, **more):
    return SamlProvider.parse_all(dict.fromkeys(PARTS, "") | more | {"PROVIDERS": providers})


def test_two_providers_with_all_that_can_be_said(tmp_path):
    source = tmp_path / "lab.xml"
    source.write_text("")
    corp, lab = parse(
        f"{URL}?app=1 lab={source}",
        ENTITY_IDS="corp=https://id.acme.example/saml lab=urn:lab",
        NAMES="corp=Acme ID",
        GROUPS_ATTRIBUTES="lab=memberOf",
        NEW_ACCOUNTS="lab=everyone",
        SECOND_FACTORS="lab=urn:a+urn:b",
    )
    assert (corp.source, corp.issuer, corp.name) == (
        "https://a.example/metadata?app=1",
        "https://id.acme.example/saml",
        "Acme ID",
    )
    assert (corp.groups_claim, corp.new_accounts, corp.second_factors) == ("groups", "groups", frozenset())
    assert (lab.source, lab.issuer, lab.name) == (str(source), "urn:lab", "lab")
    assert (lab.groups_claim, lab.new_accounts, lab.second_factors) == ("memberOf", "everyone", {"urn:a", "urn:b"})


@for_each_row(
    ("providers", "more", "said"),
    [
        ("corp", {}, "SAML_PROVIDERS"),
        ("corp=/no/such/file.xml", {"ENTITY_IDS": "corp=urn:a"}, "no such file"),
        ("corp=http://a.example", {"ENTITY_IDS": "corp=urn:a"}, "expected an https: URL"),
        ("corp=file:///etc/passwd", {"ENTITY_IDS": "corp=urn:a"}, "expected an https: URL"),
        ("Corp=https://a.example", {"ENTITY_IDS": "Corp=urn:a"}, "not a provider name"),
        (URL, {}, "SAML_ENTITY_IDS"),
        (URL, {"ENTITY_IDS": "corp=urn:a']"}, "SAML_ENTITY_IDS"),
        (URL, {"ENTITY_IDS": f"corp=urn:{'a' * 200}"}, "SAML_ENTITY_IDS"),
        (URL, {"ENTITY_IDS": "corp=urn:a other=urn:b"}, "names other"),
        (f"{URL} b=https://b.example", {"ENTITY_IDS": "corp=urn:a b=urn:a"}, "same entity id twice"),
        (URL, {"ENTITY_IDS": "corp=urn:a", "NEW_ACCOUNTS": "corp=all"}, "SAML_NEW_ACCOUNTS"),
    ],
)
def test_what_cannot_be_meant_is_refused(providers, more, said):
    with pytest.raises(Invalid, match=said):
        parse(providers, **more)


def test_a_variable_that_is_set_while_the_room_is_left_out_is_named(settings, monkeypatch):
    settings.ROOMS_LEFT_OUT = left_out(["saml"])
    monkeypatch.setenv("LARDER_SAML_PROVIDERS", URL)

    [warning] = [one for one in checks.variables_are_known(None) if "LARDER_SAML" in one.msg]
    assert warning.msg == "LARDER_WITHOUT leaves out saml: LARDER_SAML_PROVIDERS changes nothing."
    assert warning.hint == "Remove it, or remove saml from LARDER_WITHOUT."


def test_a_provider_of_the_file_that_is_left_out_is_named(settings, monkeypatch, tmp_path):
    settings.ROOMS_LEFT_OUT = left_out(["saml"])
    (tmp_path / "on.yaml").write_text("providers: {hq: {metadata: /none.xml, entity_id: urn:a}}")
    monkeypatch.setenv("LARDER_SIGN_ON_FILE", str(tmp_path / "on.yaml"))
    monkeypatch.setattr(identity_providers, "ignored", {})

    assert identity_providers.read(*rooms.identity_providers(settings.ROOMS_LEFT_OUT)) == ()
    assert variables.of_left_out() == {"hq in LARDER_SIGN_ON_FILE": "saml"}
