"""Identity providers: what the file or the old variables say together, and what is refused at the start."""

from typing import Any

import pytest

from apps.contrib.openid.providers import OpenIdProvider
from apps.lib.errors import Invalid
from apps.lib.settings_values.identity_providers import SignOnFile, is_safe
from tests.rows import for_each_row

MORE = {"CLIENT_IDS": "", "NAMES": "", "SCOPES": "", "GROUPS_CLAIMS": "", "NEW_ACCOUNTS": "", "SECOND_FACTORS": ""}


def parse(providers, secrets=(), **more):
    return OpenIdProvider.parse_all(MORE | more | {"PROVIDERS": providers, "SECRETS_FILE": "\n".join(secrets)})


def test_two_providers_with_all_that_can_be_said():
    corp, lab = parse(
        "corp=https://id.acme.example/realms/a lab=http://localhost:9000",
        ["corp=s3=cret"],
        CLIENT_IDS="corp=larder lab=x",
        NAMES="corp=Acme ID, lab=The lab",
        SCOPES="corp=groups+profile",
        GROUPS_CLAIMS="lab=roles",
        NEW_ACCOUNTS="lab=everyone",
    )
    assert (corp.client_id, corp.secret, corp.name, corp.groups_claim) == ("larder", "s3=cret", "Acme ID", "groups")
    assert (corp.scopes, corp.new_accounts) == (("openid", "groups", "profile"), "groups")
    assert (lab.secret, lab.name, lab.scopes) == ("", "The lab", ("openid", "profile"))
    assert (lab.groups_claim, lab.new_accounts) == ("roles", "everyone")
    assert corp.discovery_url == "https://id.acme.example/realms/a/.well-known/openid-configuration"
    assert "s3" not in repr(corp)


@for_each_row(
    ("providers", "more", "said"),
    [
        ("corp", {}, "OIDC_PROVIDERS"),
        ("corp=", {}, "OIDC_PROVIDERS"),
        ("Corp=https://a.example", {"CLIENT_IDS": "Corp=x"}, "not a provider name"),
        ("corp=http://a.example", {"CLIENT_IDS": "corp=x"}, "not an issuer"),
        ("corp=https://user@a.example", {"CLIENT_IDS": "corp=x"}, "not an issuer"),
        ("corp=https://a.example?x=1", {"CLIENT_IDS": "corp=x"}, "not an issuer"),
        ("corp=https://a.example:port", {"CLIENT_IDS": "corp=x"}, "not an issuer"),
        (f"corp=https://a.example/{'a' * 200}", {"CLIENT_IDS": "corp=x"}, "not an issuer"),
        ("corp=https://a.example", {}, "OIDC_CLIENT_IDS"),
        ("corp=https://a.example", {"CLIENT_IDS": "corp=x other=y"}, "names other"),
        ("corp=https://a.example corp=https://b.example", {}, "OIDC_PROVIDERS"),
        ("a=https://a.example b=https://a.example", {"CLIENT_IDS": "a=x b=x"}, "same issuer twice"),
        ("corp=https://a.example", {"CLIENT_IDS": "corp=x", "NEW_ACCOUNTS": "corp=all"}, "OIDC_NEW_ACCOUNTS"),
    ],
)
def test_what_cannot_be_meant_is_refused(providers, more, said):
    with pytest.raises(Invalid, match=said):
        parse(providers, **more)


FILE: dict[str, Any] = {
    "secrets_file": "secrets",
    "providers": {
        "corp": {"issuer": "https://id.acme.example", "client_id": "larder", "scopes": ["groups"]},
        "lab": {"issuer": "http://localhost:9000", "client_id": "x", "name": "The lab", "second_factors": "mfa"},
    },
}


def test_a_file_says_the_same_as_the_old_variables():
    names = {"CLIENT_IDS": "corp=larder lab=x", "NAMES": "lab=The lab", "SCOPES": "corp=groups"}
    issuers = "corp=https://id.acme.example lab=http://localhost:9000"
    before = parse(issuers, ["corp=s3=cret"], SECOND_FACTORS="lab=mfa", **names)

    assert SignOnFile.parse(FILE, [OpenIdProvider]).providers("corp=s3=cret\n") == before


@for_each_row(
    ("field", "value", "said"),
    [
        ("client_id", 7, "client_id: expected text"),
        ("clientid", "larder", "unknown key 'clientid'"),
        ("scopes", {"a": "b"}, "expected a list of texts"),
        ("issuer", "http://id.acme.example", "is not an issuer"),
        ("new_accounts", "all", "new_accounts: corp='all'"),
        ("issuer", "http://localhost:9000", "the same issuer twice"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(field, value, said):
    providers = FILE["providers"] | {"corp": FILE["providers"]["corp"] | {field: value}}
    with pytest.raises(Invalid, match=said):
        SignOnFile.parse(FILE | {"providers": providers}, [OpenIdProvider]).providers("")


@for_each_row(
    ("file", "secrets", "said"),
    [
        ([], "", "expected keys and values"),
        ({"provider": {}}, "", "unknown key 'provider'"),
        ({"providers": {"hq": {"metadata": "hq.xml"}}}, "", "'hq' cannot be read"),
        ({"providers": {}}, "corp=hunter2", "names corp, which has no client secret"),
    ],
)
def test_a_file_of_another_form_is_refused(file, secrets, said):
    with pytest.raises(Invalid, match=said):
        SignOnFile.parse(file, [OpenIdProvider]).providers(secrets)


def test_a_refused_secret_is_not_repeated():
    with pytest.raises(Invalid) as refusal:
        parse("corp=https://a.example", ["hunter2"], CLIENT_IDS="corp=x")
    assert "hunter2" not in f"{refusal.value} {refusal.value.hint}"


@for_each_row(
    ("url", "at_home", "elsewhere"),
    [
        ("https://id.acme.example/token", True, True),
        ("http://localhost:9000/token", True, False),
        ("http://127.0.0.1/token", True, False),
        ("http://[::1]:9000/token", True, False),
        ("http://10.0.0.1/token", False, False),
        ("http://localhost.evil.example/token", False, False),
        ("http://id.acme.example/token", False, False),
        ("ftp://localhost/token", False, False),
        ("https://", False, False),
        ("https://alice@id.acme.example/token", False, False),
        ("https://id.acme.example/token#a", False, False),
        ("https://id.acme.example:port/token", False, False),
    ],
)
def test_plain_http_is_for_this_machine_alone_and_only_if_the_issuer_is_here(url, at_home, elsewhere):
    home, other = parse("home=http://localhost:9000 other=https://id.acme.example", CLIENT_IDS="home=x other=y")

    assert (is_safe(url, loopback=True), is_safe(url, loopback=False)) == (at_home, elsewhere)
    assert (home.is_safe_endpoint(url), other.is_safe_endpoint(url)) == (at_home, elsewhere)
    assert not other.is_safe_endpoint([url])
