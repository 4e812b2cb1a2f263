"""Credentials: what people give is checked with a clear error, sealed, and made into what git and ssh need."""

import base64
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from apps.contrib.git import credentials
from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.tests.credentials.github import new_key
from apps.lib.errors import Invalid
from apps.lib.net import fetching
from apps.lib.settings_values.outgoing import Outgoing
from tests.builders.git_servers import LOOPBACK
from tests.builders.tls import Authority
from tests.rows import for_each_row

HTTPS = "https://github.com/acme/vpc"


def test_without_a_credential_the_settings_alone_count(repository_with, settings, tmp_path):
    ca_file = tmp_path / "ca.pem"
    ca_file.write_bytes(Authority("Acme").pem)
    settings.SOURCES = Outgoing(allow=LOOPBACK, ca_file=str(ca_file), proxy="http://proxy.acme.example:3128")

    access = credentials.access_of(repository_with(HTTPS, host_keys=["ssh-ed25519 AAAA"]))

    assert (access.authorization, access.private_key) == ("", "")
    assert (access.allowed, access.ca_file, access.proxy) == (LOOPBACK, str(ca_file), "http://proxy.acme.example:3128")
    assert access.host_keys == ("ssh-ed25519 AAAA",)
    assert len(access.trusted.get_ca_certs()) == 1 + len(fetching.trusting("", 0, "").get_ca_certs())


def test_certificates_that_cannot_be_read_are_said(repository_with, settings):
    settings.SOURCES = Outgoing(ca_file="/nonexistent/ca.pem")

    with pytest.raises(GitFailed, match="LARDER_OUTGOING_CA_FILE") as failed:
        credentials.access_of(repository_with(HTTPS))
    assert failed.value.code == "bad_ca_file"


@for_each_row(
    ("forge", "token", "given", "user"),
    [
        ("github", "ghp_x", "", "x-access-token"),
        ("gitlab", "glpat-x", "", "oauth2"),
        ("gitlab", "gldt-x", "deploy-bot", "deploy-bot"),
        ("gitea", "0a1b2c3d", "", "oauth2"),
        ("bitbucket", "ATCTTx", "", "x-token-auth"),
        ("bitbucket", "ATATTx", "", "x-bitbucket-api-token-auth"),
        ("azure", "0a1b2c3d", "", "larder"),
        ("git", "0a1b2c3d", "", "git"),
    ],
)
def test_a_token_goes_with_the_user_name_of_its_forge(repository_with, forge, token, given, user):
    repository = repository_with(HTTPS, {"kind": "token", "token": f" {token}\n", "username": given}, forge=forge)

    access = credentials.access_of(repository)

    assert base64.b64decode(access.authorization.removeprefix("Basic ")).decode() == f"{user}:{token}"
    assert token not in repr(access)
    assert token not in repository.sealed_credential
    assert repository.credential_facts == ({"username": given} if given else {})


def test_a_deploy_key_is_one_that_ssh_reads(repository_with, tmp_path):
    repository = repository_with("git@github.com:acme/vpc.git", {"kind": "deploy_key"})

    access = credentials.access_of(repository)

    path = tmp_path / "key"
    path.write_text(access.private_key)
    path.chmod(0o600)
    made = subprocess.run(["ssh-keygen", "-y", "-f", path], capture_output=True, text=True, check=True).stdout
    assert made.split()[:2] == repository.credential_facts["public_key"].split()[:2]
    assert made.startswith("ssh-ed25519 ")
    assert access.private_key not in repr(access)
    again = repository_with("git@github.com:acme/vpc.git", {"kind": "deploy_key"})
    assert again.credential_facts["public_key"] != repository.credential_facts["public_key"]


def test_a_secret_does_not_open_in_another_row(repository_with):
    """Someone who can write to the database cannot have Larder send a token to a server of theirs."""
    ours = repository_with(HTTPS, {"kind": "token", "token": "ghp_x"})
    theirs = repository_with("https://evil.example/a", {"kind": "token", "token": "x"})
    theirs.sealed_credential = ours.sealed_credential

    with pytest.raises(GitFailed) as failed:
        credentials.access_of(theirs)
    assert failed.value.code == "credential_not_opened"
    assert "secret key" in failed.value.hint


def elliptic() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


APP = {"kind": "app", "app_id": 7, "installation_id": "42", "private_key": "x"}


@for_each_row(
    ("scheme", "given", "says"),
    [
        ("https", {"kind": "password"}, "'password'"),
        ("https", {"kind": ["token"]}, "kind of credential"),
        ("https", {"token": "x"}, "'None'"),
        ("https", {"kind": "token", "token": "x", "user": "a"}, "no field 'user'"),
        ("https", {"kind": "none", "token": "x"}, "no field 'token'"),
        ("https", {"kind": "token"}, "token is missing"),
        ("https", {"kind": "token", "token": " "}, "token is 1 characters"),
        ("https", {"kind": "token", "token": "x" * 4001}, "4,001 characters"),
        ("https", {"kind": "token", "token": "a\r\nHost: b"}, "line breaks"),
        ("https", {"kind": "token", "token": "é"}, "non-ASCII"),
        ("https", {"kind": "token", "token": "x", "username": "a b"}, "user name"),
        ("https", {"kind": "token", "token": "x", "username": "a:b"}, "colon"),
        ("https", {"kind": "token", "token": "x", "username": 3}, "user name"),
        ("ssh", {"kind": "token", "token": "x"}, "begins with ssh"),
        ("https", {"kind": "deploy_key"}, "begins with https"),
        ("ssh", APP, "begins with ssh"),
        ("https", APP | {"app_id": "seven dwarfs"}, "app_id is 'seven dwarfs'"),
        ("https", APP | {"app_id": True}, "app_id"),
        ("https", APP | {"installation_id": "acme"}, "installation_id is 'acme'"),
        ("https", APP | {"installation_id": "1/../2"}, "installation_id"),
        ("https", APP, "not an RSA key"),
        ("https", APP | {"private_key": elliptic()}, "not an RSA key"),
        ("https", APP | {"private_key": new_key(1024)[0]}, "2048 bits"),
        ("https", APP | {"private_key": "x" * 20_001}, "20,001 characters"),
    ],
)
def test_what_cannot_be_used_is_refused(scheme, given, says):
    with pytest.raises(Invalid) as refused:
        credentials.checked(scheme, given)

    assert says in str(refused.value)
    assert refused.value.hint
