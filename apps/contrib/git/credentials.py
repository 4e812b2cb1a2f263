"""Credentials of repositories: checked, sealed, and made into what git and ssh need.

Where people choose, the order is: the installation of a GitHub App, whose tokens last an hour and belong to no person;
then a deploy key, which opens one repository; then an access token.
"""

import base64
import ssl
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from apps.accounts.identity import sealing
from apps.contrib.git import forges, github_apps
from apps.contrib.git.models import CredentialKind, GitRepository
from apps.contrib.git.remote import remotes
from apps.contrib.git.remote.access import Access, GitFailed
from apps.lib.errors import Invalid, Unavailable
from apps.lib.net import fetching

MAX_TOKEN_CHARACTERS = 4000
MAX_USER_CHARACTERS = 200
MAX_KEY_CHARACTERS = 20_000
MIN_RSA_BITS = 2048
# Only the repository with this `hook_id` opens it: a secret that is copied to another row stays closed.
SEALED = sealing.Column(GitRepository, "sealed_credential", "git-credential", bound_to="hook_id")
FIELDS = {
    CredentialKind.NONE: {"kind"},
    CredentialKind.TOKEN: {"kind", "token", "username"},
    CredentialKind.APP: {"kind", "app_id", "installation_id", "private_key"},
    CredentialKind.DEPLOY_KEY: {"kind"},
}

log = structlog.get_logger("larder.sources")


@sensitive_variables("given")
def checked(remote_scheme: str, given: Mapping[str, Any] | None) -> tuple[str, dict[str, Any], str]:
    """Return kind, facts that are no secret, and the secret of what a person gave. Makes the key pair of a deploy key.

    Raises Invalid.
    """
    given = given or {"kind": CredentialKind.NONE}
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in FIELDS:
        raise Invalid(
            f"The kind of credential is {str(kind)[:40]!r}.", hint=f"Use one of {', '.join(CredentialKind.values)}."
        )
    fields = FIELDS[CredentialKind(kind)]
    if unknown := sorted(set(map(str, given)) - fields):
        raise Invalid(
            f"A credential of the kind {kind} has no field {unknown[0][:40]!r}.",
            hint=f"Fields are: {', '.join(sorted(fields))}.",
        )
    if kind == CredentialKind.DEPLOY_KEY:
        _require("ssh", remote_scheme, "A deploy key")
        return kind, *_new_key_pair()
    if kind == CredentialKind.NONE:
        return kind, {}, ""
    _require("https", remote_scheme, "A token" if kind == CredentialKind.TOKEN else "A GitHub App")
    return (kind, *_token_of(given)) if kind == CredentialKind.TOKEN else (kind, *_app_of(given))


def seal(secret: str, hook_id: str) -> str:
    return sealing.seal(secret, SEALED.purpose_of(hook_id)) if secret else ""


@sensitive_variables("secret", "token")
def access_of(repository: GitRepository) -> Access:
    """Return how the repository is reached. An app's installation token is asked for, and used until it expires.

    Raises GitFailed. No database transaction may be open.
    """
    kind, facts = repository.credential, repository.credential_facts
    access = replace(open_access(), host_keys=tuple(repository.host_keys))
    if kind == CredentialKind.NONE:
        return access
    try:
        secret = sealing.unseal(repository.sealed_credential, SEALED.purpose_of(repository.hook_id))
    except Unavailable as error:
        log.warning("git_credential_not_opened", repository=repository.pk)
        raise GitFailed("credential_not_opened", str(error), hint=error.hint) from None
    if kind == CredentialKind.DEPLOY_KEY:
        return replace(access, private_key=secret)
    if kind == CredentialKind.APP:
        remote = remotes.parse(repository.url)
        token, user = github_apps.token_of(remote, access, facts, secret), "x-access-token"
    else:
        token, user = secret, str(facts.get("username") or forges.user_of(repository.forge, secret))
    return replace(access, authorization=basic(user, token))


def open_access() -> Access:
    """Return how a public repository is reached. Raises GitFailed if the operator's certificates cannot be read."""
    sources = settings.SOURCES
    try:
        changed_at = Path(sources.ca_file).stat().st_mtime_ns if sources.ca_file else 0
        trusted = fetching.trusting(sources.ca_file, changed_at, "")
    except (OSError, ssl.SSLError) as error:
        text = f"LARDER_OUTGOING_CA_FILE cannot be read: {type(error).__name__}"
        raise GitFailed("bad_ca_file", text, hint="Ask an operator to repair the file.") from None
    return Access(trusted, ca_file=sources.ca_file, allowed=sources.allow, proxy=sources.proxy)


def basic(user: str, token: str) -> str:
    """The value of Authorization."""
    return f"Basic {base64.b64encode(f'{user}:{token}'.encode()).decode()}"


def _require(scheme: str, found: str, what: str) -> None:
    """Plain http is allowed as https is: it is only called in networks that an operator allowed."""
    if found != scheme and (scheme, found) != ("https", "http"):
        form = "https://github.com/acme/vpc" if scheme == "https" else "git@github.com:acme/vpc.git"
        raise Invalid(
            f"{what} works over {scheme}, and the repository's URL begins with {found}.",
            hint=f"Connect the repository by its {scheme} URL, such as {form}.",
        )


def _token_of(given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    token, user = _text(given, "token", MAX_TOKEN_CHARACTERS), given.get("username") or ""
    if not _is_plain(token):
        raise Invalid(
            "The token contains spaces, line breaks or non-ASCII characters.",
            hint="Copy the token again, without its surroundings.",
        )
    if not isinstance(user, str) or len(user) > MAX_USER_CHARACTERS or not (user == "" or _is_plain(user)):
        raise Invalid(
            f"The user name contains spaces, or has more than {MAX_USER_CHARACTERS} characters.",
            hint="Leave it empty unless the forge shows one with the token, as GitLab does for deploy tokens.",
        )
    if ":" in user:
        raise Invalid("The user name contains a colon.", hint="Enter the user name and the token in separate fields.")
    return ({"username": user} if user else {}), token


def _app_of(given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    facts: dict[str, Any] = {}
    for name in ("app_id", "installation_id"):
        found = given.get(name)
        text = str(found).strip() if isinstance(found, str | int) and not isinstance(found, bool) else ""
        # An app's client id is as good as its number.
        is_id = text.isascii() and (text.isdigit() or (name == "app_id" and text.isalnum())) and len(text) <= 40  # noqa: PLR2004
        if not is_id:
            raise Invalid(
                f"{name} is {str(found)[:40]!r}, expected its number.",
                hint="GitHub shows the App ID on the app's settings page, and the installation's number at the end of "
                "the URL of its configuration page.",
            )
        facts[name] = text
    pem = _text(given, "private_key", MAX_KEY_CHARACTERS).strip() + "\n"
    try:
        key = serialization.load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, RSAPrivateKey) or key.key_size < MIN_RSA_BITS:
        raise Invalid(
            f"private_key is not an RSA key of {MIN_RSA_BITS} bits or more in PEM without a passphrase.",
            hint="Generate a private key on the app's settings page in GitHub, and paste the whole .pem file.",
        )
    return facts, pem


def _text(given: Mapping[str, Any], name: str, most: int) -> str:
    found = given.get(name)
    if not isinstance(found, str) or not 0 < len(found.strip()) <= most:
        wrong = "missing" if found is None else "no text"
        size = f"{len(found):,} characters long" if isinstance(found, str) else wrong
        raise Invalid(f"{name} is {size}, expected a text of 1 to {most:,} characters.", hint=f"Give {name}.")
    return found.strip()


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _new_key_pair() -> tuple[dict[str, Any], str]:
    """Ed25519, which every forge takes but Azure DevOps, which takes RSA alone."""
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    return {"public_key": f"{public.decode()} larder"}, private.decode()
