"""Shared parts of the pages of Git repositories: who may open them, the row that the URL names, and its state in a
word.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Namespace, Role
from apps.contrib.git import connecting, host_scanning, syncing
from apps.contrib.git.models import CredentialKind, GitRepository, RepositoryState, Verdict
from apps.contrib.git.remote import host_keys, remotes
from apps.jobs.models import WORKING, Job
from apps.lib.errors import Conflict


@dataclass(frozen=True, slots=True)
class Place:
    """The viewer, the namespace and their role in it."""

    viewer: Viewer
    namespace: Namespace
    role: Role

    @property
    def may_manage(self) -> bool:
        return self.role == Role.OWNER

    def repository(self, number: int) -> GitRepository:
        """Raises NotFound."""
        return connecting.repository_of(self.namespace, number)

    def context(self, repository: GitRepository | None = None) -> dict[str, Any]:
        found: dict[str, Any] = {"namespace": self.namespace, "may_manage": self.may_manage, "may_publish": True}
        return found if repository is None else found | {"repository": repository, "name": short_name(repository.url)}


def place_of(request: HttpRequest, namespace: str, *, need: Role = Role.OWNER) -> Place:
    """Raises what the gate raises."""
    viewer = session_viewer(request)
    return Place(viewer, *gate.namespace_and_role(viewer, namespace, need=need))


def short_name(url: str) -> str:
    """Return `acme/terraform-aws-vpc` for headings; the URL itself is on the page as well."""
    path = url.partition("://")[2].partition("/")[2] or url
    return path.strip("/").removesuffix(".git") or url


def state_of(repository: GitRepository) -> str:
    """Return its state; `listing` for one that is active and was never listed."""
    state = repository.state
    return "listing" if state == RepositoryState.ACTIVE and not repository.fetched_at else state


def is_being_listed(repository: GitRepository) -> bool:
    return Job.objects.filter(kind=syncing.JOB, target=repository.pk, state__in=WORKING).exists()


def needs_host_keys(repository: GitRepository) -> bool:
    """Return whether the server shows another key than was confirmed."""
    failure = repository.preview.get("failure") or {}
    return not {repository.failure_code, failure.get("code", "")}.isdisjoint(syncing.HOST_KEY_CODES)


def shown_keys(keys: Iterable[str], known: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Host keys as pages list them; beside `known` ones, the others are marked as new."""
    rows = [
        {
            "kind": host_keys.kind(key),
            "fingerprint": host_keys.fingerprint(key),
            "is_new": known is not None and key not in known,
        }
        for key in keys
    ]
    return sorted(rows, key=lambda row: str(row["kind"]))


def is_ssh(repository: GitRepository) -> bool:
    return remotes.parse(repository.url).scheme == "ssh"


@dataclass(frozen=True, slots=True)
class Scan:
    """The host keys that a worker found when it asked an ssh server; none of a scan that is too old to confirm."""

    is_working: bool
    failure: dict[str, Any] | None
    keys: tuple[str, ...]
    at: datetime | None


def scan_of(repository: GitRepository) -> Scan:
    state, failure = host_scanning.state_of(repository), host_scanning.failure_of(repository)
    keys: list[str] = []
    if state == host_scanning.DONE:
        with suppress(Conflict):
            keys = host_scanning.found(repository)
    return Scan(state == host_scanning.WAITING, failure, tuple(keys), repository.host_scanned_at)


def has_key_to_add(repository: GitRepository) -> bool:
    return repository.credential == CredentialKind.DEPLOY_KEY and repository.previewed_at is None


# The order of the filter above the tags: what needs somebody first, then what is done.
VERDICTS = (
    Verdict.MOVED,
    Verdict.GONE,
    Verdict.REFUSED,
    Verdict.HELD,
    Verdict.WAITING,
    Verdict.PUBLISHED,
    Verdict.IGNORED,
)
