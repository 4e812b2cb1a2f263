"""The rows of Git repositories in the tables of the house tests (see tests/rooms.py)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import sealing
from apps.accounts.models import Namespace, User
from apps.contrib.git import connecting, credentials, hooks
from apps.contrib.git.models import GitRepository
from apps.contrib.git.remote import children
from tests.sessions import in_browser

RULES = [{"tag": "v{version}", "folder": "", "module": "vpc/aws"}]


def connect(namespace: Namespace, owner: User, name: str) -> GitRepository:
    url = f"https://github.com/acme/{name}"
    return connecting.connect(namespace=namespace, actor=Viewer(owner), url=url, rules=RULES).repository


CONNECTIONS = {"git-repository": connect}
CONNECTION_NAMES = ("Git repository https://github.com/acme/vpc",)
# Whether it is used, which says if its queue needs a worker, and what it tells.
QUERIES_OF_METRICS = 2
PARTS = ("git",)
PEOPLE_ONLY = {
    "contrib.git.connecting.change": "change repositories",
    "contrib.git.connecting.connect": "connect repositories",
    "contrib.git.connecting.renew_hook_secret": "renew the secrets of webhooks",
    "contrib.git.connecting.trust_host_keys": "trust host keys",
    "contrib.git.host_scanning.ask": "read host keys",
}
COMPARES_SECRETS = {"apps/contrib/git/signatures.py: _is_secret": "the token of a webhook"}
IDEMPOTENT_ELSEWHERE = {"post_repository_host_keys": "apps/contrib/git/tests/api"}
# It needs an ssh server: tests/api of this room sends it.
WITHOUT_EXAMPLE = {("api:repository-host-keys", "POST")}
ON_CALL = {"larder_git_repositories", "larder_git_oldest_job_seconds"}
SMALL = {"sources.GitRepository": "a few for each namespace", "sources.Rule": "a few for each repository"}
SMALL_COLUMNS = {"sources.Rule": {"position": "g"}}
GROWING: dict[str, dict[str, str]] = {
    "sources.Tag": {"verdict": "'published'", "name": "'v' || g", "module": "'module/aws'"},
    "sources.Request": {"tag_id": "NULL"},
    "sources.Delivery": {},
    "sources.Push": {},
}


def start_program() -> None:
    with children.started(children.Command(["git", "--version"], Path("/"), {}), children.Clock(1)):
        pass


WAYS_OUT = [start_program]


def watched(namespace: Namespace, owner: User) -> None:
    """Have what the metrics are about."""
    connecting.connect(namespace=namespace, actor=in_browser(owner), url="https://git.example.com/acme/vpc")


def secrets(namespace: Namespace, owner: User) -> dict[str, tuple[Callable[[], Any], Any]]:
    token = {"kind": "token", "token": "ghp_pears"}
    url = "https://github.com/acme/vpc"
    made = connecting.connect(namespace=namespace, actor=in_browser(owner), url=url, credential=token).repository

    def authorization() -> str:
        return credentials.access_of(GitRepository.objects.get(pk=made.pk)).authorization

    def of_hook() -> str:
        row = GitRepository.objects.get(pk=made.pk)
        return sealing.unseal(row.sealed_hook_secret, hooks.SEALED.purpose_of(row.hook_id))

    return {
        "a repository's token": (authorization, authorization()),
        "the secret of a repository's webhooks": (of_hook, of_hook()),
    }
