"""Verbs for repositories. The caller has asked the gate for the role of owner.

Each repository has a machine of its own, which has the role publisher in that namespace and nothing else: no password
and no tokens. Releases name it, and so do audit rows. Only the workers act as it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access import connections, gate, machines
from apps.accounts.access.gate import Viewer
from apps.accounts.access.people_only import people_only
from apps.accounts.creations import Source
from apps.accounts.models import Act, Namespace, Role
from apps.audit.kinds import Kind
from apps.contrib.git import credentials, forges, hooks, host_scanning, places, row_locks, rulebook, syncing
from apps.contrib.git.models import Forge, GitRepository, Submodules, Tag, Verdict
from apps.contrib.git.remote import host_keys, remotes
from apps.contrib.git.remote.remotes import Remote
from apps.lib.errors import Conflict, Invalid, existing

MAX_REPOSITORIES = 200
MAX_POLL_MINUTES = 24 * 60
CHANGEABLE = ("rules", "credential", "poll_minutes", "submodules")

log = structlog.get_logger("larder.sources")


@dataclass(frozen=True, slots=True)
class Connected:
    """`hook_secret` is shown once."""

    repository: GitRepository
    hook_secret: str


@people_only("connect repositories")
def connect(
    *,
    namespace: Namespace,
    actor: Viewer,
    url: str,
    rules: Iterable[Mapping[str, Any]] = (),
    forge: str = "",
    credential: Mapping[str, Any] | None = None,
    poll_minutes: int = 15,
    submodules: str | None = None,
    allow_submodules: bool | None = None,
) -> Connected:
    """Connect it as a draft: nothing is published before `syncing.sync`.

    Raises Invalid, Conflict, Unavailable and, where the person has too many ssh servers asked, TooManyAttempts.

    `url` is that of a Git repository, or the address of a module in a registry that is mirrored, such as
    registry.opentofu.org/terraform-aws-modules/vpc/aws (NotFound if it is not mirrored).

    `rules`: {"tag", "folder", "module"}. `credential`: {"kind": "token", "token", "username"}, {"kind": "app",
    "app_id", "installation_id", "private_key"}, {"kind": "deploy_key"} (Larder makes the key; its public half is in
    `credential_facts`), or none. A worker asks an ssh server for its host keys, and pins them (`host_scanning`).

    `submodules`: refuse (the default), fetch or leave_out. `allow_submodules` is what came before it: True is fetch.
    """
    if forge and forge not in Forge.values:
        raise Invalid(f"The forge is {forge[:40]!r}.", hint=f"Forges are {', '.join(Forge.values)}.")
    forge, remote = places.named(url, forge, actor)
    remote = remote if forge == Forge.GIT else remote.rooted
    place = places.of(GitRepository(namespace=namespace, url=remote.url, forge=forge))
    found_rules = place.checked_rules(rules)
    kind, facts, secret = place.checked_credential(credential)
    hook_id, hook_secret = hooks.new_id(), hooks.new_secret()
    draft = GitRepository(
        namespace=namespace,
        url=remote.url,
        forge=forge,
        credential=kind,
        credential_facts=facts,
        sealed_credential=credentials.seal(secret, hook_id),
        hook_id=hook_id,
        sealed_hook_secret=hooks.seal(hook_secret, hook_id),
        poll_minutes=_minutes(poll_minutes),
        **_columns_of(_submodules(submodules, allow_submodules) or Submodules.REFUSE),
        created_by=actor.user,
        created_by_token=actor.token,
    )
    _refuse_twin(namespace, remote)
    try:
        repository = _create(draft, remote, found_rules, actor)
    except IntegrityError:
        raise _twin(namespace, remote) from None
    return Connected(repository, hook_secret)


@people_only("change repositories")
def change(
    *, repository: GitRepository, actor: Viewer, selected: Collection[str] | None = None, **changes: Any
) -> None:
    """`rules`, `credential`, `poll_minutes`, `submodules`, as of `connect`. Raises Invalid and Conflict.

    Its tags are matched with the new rules at the next listing, which begins at once. `selected`: of the tags that were
    listed before, which the new rules publish; None: all that fit.
    """
    wanted = _submodules(changes.get("submodules"), changes.pop("allow_submodules", None))
    if unknown := sorted(changes.keys() - set(CHANGEABLE)):
        raise Invalid(f"{unknown[0][:40]} of a repository cannot be changed.", hint=f"Change {', '.join(CHANGEABLE)}.")
    columns: dict[str, Any] = {}
    said: dict[str, Any] = {}
    if "poll_minutes" in changes:
        columns["poll_minutes"] = said["poll_minutes"] = _minutes(changes["poll_minutes"])
    if wanted is not None:
        columns |= _columns_of(wanted)
        said["submodules"] = wanted
    if "credential" in changes:
        kind, facts, secret = places.of(repository).checked_credential(changes["credential"])
        sealed = credentials.seal(secret, repository.hook_id)
        columns |= {"credential": kind, "credential_facts": facts, "sealed_credential": sealed}
        said["credential_kind"] = kind
    found_rules = places.of(repository).checked_rules(changes["rules"]) if "rules" in changes else None
    if found_rules is not None:
        said["rules"] = [rule.as_json() for rule in found_rules]
    with transaction.atomic():
        row = _required_of_owner(repository, actor)
        if selected is not None and row.fetched_at is not None:
            columns["selected"] = sorted(selected)
        if columns:
            GitRepository.objects.filter(pk=repository.pk).update(**columns)
        if found_rules is not None:
            rulebook.replace(repository, found_rules)
        actor.record(
            Kind.GIT_REPOSITORY_CHANGED, subject=repository.namespace.name, repository=repository.pk, changes=said
        )
        syncing.listen(repository)
    repository.refresh_from_db()


@people_only("renew the secrets of webhooks")
@transaction.atomic
def renew_hook_secret(*, repository: GitRepository, actor: Viewer) -> str:
    """Return the new secret, which is shown once. The old one ends at once."""
    row = _required_of_owner(repository, actor)
    if row.forge in forges.WITHOUT_WEBHOOKS:
        raise Conflict("Registries send no webhooks.", hint="Larder polls the registry.")
    secret = hooks.new_secret()
    row.sealed_hook_secret = repository.sealed_hook_secret = hooks.seal(secret, row.hook_id)
    row.save(update_fields=["sealed_hook_secret"])
    actor.record(Kind.GIT_HOOK_SECRET_RENEWED, subject=row.namespace.name, repository=row.pk)
    return secret


@people_only("trust host keys")
def trust_host_keys(*, repository: GitRepository, actor: Viewer, fingerprints: Iterable[str]) -> None:
    """Pin the keys of the last scan, if they are those that the person was shown.

    Raises Conflict, and what `host_scanning.found` raises.
    """
    if remotes.parse(repository.url).scheme != "ssh":
        raise Conflict("Only ssh servers have host keys.", hint="Servers over https are trusted by their certificates.")
    with transaction.atomic():
        row = _required_of_owner(repository, actor)
        keys = host_scanning.found(row)
        now, shown = sorted(map(host_keys.fingerprint, keys)), sorted(set(fingerprints))
        if now != shown:
            log.warning("git_host_keys_not_trusted", repository=row.pk, found=now, shown=shown)
            raise Conflict(
                f"The server has the keys {', '.join(now) or 'none'}; you confirmed {', '.join(shown) or 'none'}.",
                hint="Compare them with those that the forge publishes, and confirm them again.",
            )
        before = host_fingerprints(row)
        row.host_keys = keys
        row.save(update_fields=["host_keys", *syncing.end_host_key_alarm(row)])
        actor.record(Kind.GIT_HOST_KEYS_TRUSTED, subject=row.namespace.name, repository=row.pk, known=before, found=now)
        syncing.listen(row)
    repository.refresh_from_db()


def host_fingerprints(repository: GitRepository) -> list[str]:
    """Return those that are pinned."""
    return sorted(map(host_keys.fingerprint, repository.host_keys))


@transaction.atomic
def disconnect(*, repository: GitRepository, actor: Viewer) -> None:
    """Its releases stay. Waiting tags are no longer published. Safe to repeat."""
    row = row_locks.locked(repository.pk)
    if row.ended_at is not None:
        return
    row.ended_at = repository.ended_at = timezone.now()
    row.sealed_credential = repository.sealed_credential = ""
    row.next_at = None
    row.save(update_fields=["ended_at", "sealed_credential", "next_at"])
    reason = "The repository was disconnected before this tag was published."
    waiting = Tag.objects.filter(repository=row, verdict=Verdict.WAITING)
    waiting.update(verdict=Verdict.IGNORED, code="disconnected", reason=reason, changed_at=row.ended_at)
    machines.end(row.user_id)
    actor.record(
        Kind.GIT_REPOSITORY_DISCONNECTED,
        subject=row.namespace.name,
        repository=row.pk,
        user=row.user_id,
        url=row.url,
    )


def is_used() -> bool:
    """Return whether a worker has to look after repositories, drafts among them. One indexed query."""
    return GitRepository.objects.filter(ended_at=None).exists()


def end_all(*, namespace: Namespace, actor: Viewer) -> None:
    """For a namespace that is deleted."""
    for repository in of(namespace):
        disconnect(repository=repository, actor=actor)


def of(namespace: Namespace) -> QuerySet[GitRepository]:
    """Return its repositories that are connected, in the order in which they were."""
    return connected().filter(namespace=namespace).select_related("namespace", "user", "created_by")


def connected() -> QuerySet[GitRepository]:
    """Return all repositories that are connected, in the order in which they were."""
    return GitRepository.objects.filter(ended_at=None).order_by("pk")


def repository_of(namespace: Namespace, number: int) -> GitRepository:
    """Raises NotFound."""
    found = of(namespace).filter(pk=number).first()
    return existing(found, f"{namespace} has no such Git repository.", hint="See the list of its Git repositories.")


@transaction.atomic
def _create(draft: GitRepository, remote: Remote, found: list[rulebook.CheckedRule], actor: Viewer) -> GitRepository:
    row = connections.lock_as_owner(draft.namespace, actor)
    if row is None:
        raise Conflict(f"The namespace {draft.namespace} was deleted.", hint="Create it again first.")
    if of(row).count() >= MAX_REPOSITORIES:
        raise Conflict(f"{row} has {MAX_REPOSITORIES} repositories, the maximum.", hint="Disconnect one first.")
    _refuse_twin(row, remote)
    machine = machines.make(row, actor)
    draft.user = machine
    draft.save()
    machines.name(machine, row, f"git-{draft.pk}")
    rulebook.replace(draft, found)
    actor.record(
        Kind.GIT_REPOSITORY_CONNECTED,
        subject=row.name,
        repository=draft.pk,
        user=machine.pk,
        url=draft.url,
        forge=draft.forge,
        credential_kind=draft.credential,
        rules=[rule.as_json() for rule in found],
    )
    if remote.scheme == "ssh":
        host_scanning.enqueue(draft, actor)
    return draft


def _required_of_owner(repository: GitRepository, actor: Viewer) -> GitRepository:
    """Lock it for a change: from now on the actor answers for it, and takes part in what comes of it.

    Raises Conflict, and what the gate raises.
    """
    connections.lock_as_owner(repository.namespace, actor)  # before its repositories
    row = row_locks.required(repository)
    connections.changed(CONNECTIONS.kind, row.pk, actor)
    machines.acted(row.user_id, actor, Act.CHANGED)
    return row


def _identity(remote: Remote) -> tuple[str, str]:
    """The same repository by https and ssh, with and without .git."""
    return remote.host.lower(), remote.name.lower()


def _refuse_twin(namespace: Namespace, remote: Remote) -> None:
    if any(_identity(remotes.parse(one.url)) == _identity(remote) for one in of(namespace)):
        raise _twin(namespace, remote)


def _twin(namespace: Namespace, remote: Remote) -> Conflict:
    return Conflict(
        f"{remote.name} on {remote.host} is connected to {namespace} already.",
        hint="Add rules to that repository: one repository can have many.",
    )


def _minutes(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MAX_POLL_MINUTES:
        raise Invalid(f"poll_minutes is {given!a:.40}, expected 1 to {MAX_POLL_MINUTES:,}.", hint="15 is the default.")
    return given


def _submodules(given: object, allow: object) -> Submodules | None:
    """Return the choice, by either name; None if neither is given. Raises Invalid."""
    if given is not None and given not in Submodules.values:
        raise Invalid(
            f"submodules is {given!a:.40}, expected {', '.join(Submodules.values)}.", hint="refuse is the default."
        )
    if allow is None:
        return None if given is None else Submodules(str(given))
    if not isinstance(allow, bool):
        raise Invalid(f"allow_submodules is {allow!a:.40}, expected true or false.", hint="Or send submodules.")
    if given is not None and allow != (given == Submodules.FETCH):
        raise Invalid(
            f"submodules is {given}, and allow_submodules is {str(allow).lower()}: they contradict each other.",
            hint="Send submodules alone.",
        )
    if given is not None:
        return Submodules(str(given))
    return Submodules.FETCH if allow else Submodules.REFUSE


def _columns_of(submodules: Submodules) -> dict[str, bool]:
    return {
        "allow_submodules": submodules == Submodules.FETCH,
        "leaves_out_submodules": submodules == Submodules.LEAVE_OUT,
    }


def _end_with_token(repository: GitRepository, actor: Viewer) -> None:
    gate.namespace_for(actor, repository.namespace.name, need=Role.OWNER)
    disconnect(repository=repository, actor=actor)


CREATED_BY_TOKENS = Source(
    "Git repository",
    lambda: GitRepository.objects.filter(ended_at=None).select_related("namespace", "user"),
    lambda repository: f"{repository.url} of {repository.namespace}",
    _end_with_token,
)


def _stop(repository: GitRepository, _actor: Viewer) -> None:
    """Workers that are busy with it find the role of its machine gone, and its row suspended."""
    machines.suspend(repository.user_id)


def _resume(repository: GitRepository, actor: Viewer) -> None:
    machines.resume(repository.user_id, repository.namespace, actor)
    syncing.listen(repository)


CONNECTIONS = connections.Source(
    kind="git-repository",
    noun="Git repository",
    rows=lambda: GitRepository.objects.filter(ended_at=None, namespace__deleted_at=None).defer("preview", "log"),
    name=lambda repository: repository.url,
    path=lambda repository: reverse("portal:git-repository", args=[repository.namespace.name, repository.pk]),
    stop=_stop,
    resume=_resume,
    place=3,
    machine="git_repository",
)
