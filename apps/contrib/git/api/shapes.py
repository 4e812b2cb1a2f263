"""The answers of the endpoints of Git repositories, and the views that they share."""

import time
from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import prefetch_related_objects
from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, ListField

from apps.accounts.access import gate
from apps.accounts.models import Namespace, Role
from apps.api.frame.base import ApiView
from apps.api.frame.shapes import MomentField, Shape, With
from apps.contrib.git import connecting, estimating, forges, hooks, host_scanning, models, verdicts
from apps.contrib.git.models import CredentialKind, Forge, RepositoryState, Submodules
from apps.contrib.git.remote import host_keys, remotes
from apps.jobs import waiting
from apps.jobs.waiting import StatesOf, Waiting
from apps.lib.errors import Invalid

STATES = (RepositoryState.DRAFT, RepositoryState.ACTIVE, RepositoryState.FAILING, RepositoryState.SUSPENDED)
NO_STORE = {"Cache-Control": "no-store"}
# Below the 30 s after which many HTTP clients give up.
WAIT_SECONDS = 25
LATER = {"Retry-After": "2"}


class GitRuleInput(serializers.Serializer[Any]):
    # `rulebook.checked` validates them, with the same errors on every way in.

    tag = serializers.CharField(help_text="A pattern such as v{version}, vpc/v{version} or {name}-{version}.")
    folder = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="The folder of the module. The default is the root of the repository.",
    )
    module = serializers.CharField(help_text="name/system, such as vpc/aws, or {name}/aws.")


class GitRule(Shape):
    tag = CharField()
    folder = CharField(help_text="Empty for the whole repository.")
    module = CharField()


class GitCredential(Shape):
    # Of a repository. What is secret is never shown.
    kind = ChoiceField(choices=CredentialKind.values)
    username = CharField(help_text="The user name for a token. Empty for the default of the forge.")
    app_id = CharField(help_text="Id of the GitHub App, or empty.")
    installation_id = CharField(help_text="Id of the GitHub App, or empty.")
    public_key = CharField(help_text="Public part of the deploy key, to add in the forge, or empty.")
    how = CharField(help_text="How to add the deploy key, as a sentence, or empty.")
    page = CharField(help_text="URL of the page in the forge where to do this, or empty.")


class GitFailure(Shape):
    code = CharField(help_text="For programs; never changes.")
    message = CharField()
    at = MomentField()


class RepositoryHook(Shape):
    url = CharField(help_text="URL for the webhooks of the Git server.")
    last_at = MomentField(allow_null=True, help_text="When the last valid one arrived.")
    how = CharField(help_text="How to add it, as a sentence.")
    page = CharField(help_text="URL of the page in the forge where to do this, or empty.")


class NewRepositoryHook(RepositoryHook):
    secret = CharField(help_text="Secret that signs the webhooks. Returned only in this response.")


class LookFailure(Shape):
    code = CharField(help_text="For programs; never changes.")
    message = CharField(source="text")
    hint = CharField()


SCAN_STATES = (host_scanning.NONE, host_scanning.WAITING, host_scanning.DONE, host_scanning.FAILED)


class HostKeyScan(Shape):
    # Of an ssh server: a worker asks it for its host keys.
    state = ChoiceField(choices=SCAN_STATES, help_text="none: it was never requested.")
    at = MomentField(allow_null=True, help_text="When a worker last requested it.")
    fingerprints = ListField(
        child=CharField(),
        help_text="Fingerprints of the keys that the server showed then. The trusted ones are in `host_keys`.",
    )
    failure = LookFailure(allow_null=True)


class VerdictCounts(Shape):
    waiting = IntegerField()
    published = IntegerField()
    ignored = IntegerField()
    refused = IntegerField()
    held = IntegerField()
    moved = IntegerField()
    gone = IntegerField(help_text="The tag was deleted in the repository. Its releases remain.")


class GitProgress(Shape):
    done = IntegerField(help_text="Tags that were published, held or refused.")
    total = IntegerField(help_text="Tags that match a rule, except those that the policy holds back.")
    seconds_left = IntegerField(
        allow_null=True, help_text="An estimate. null if none is waiting, or too few are finished."
    )


class GitRepository(Shape):
    id = IntegerField(source="pk")
    namespace = CharField(source="namespace.name")
    url = CharField()
    forge = ChoiceField(choices=Forge.values)
    state = ChoiceField(
        choices=STATES,
        help_text="A draft publishes nothing before the first sync. A suspended repository does nothing until an "
        "owner confirms it.",
    )
    rules = GitRule(many=True)
    credential = GitCredential()
    host_keys = ListField(child=CharField(), help_text="Fingerprints of the pinned keys of an ssh server.")
    host_key_scan = HostKeyScan(help_text="Host keys of the ssh server. The first ones are pinned.")
    webhook = RepositoryHook()
    poll_minutes = IntegerField()
    submodules = ChoiceField(
        choices=Submodules.values, help_text="What to do if the folder of a module has Git submodules."
    )
    allow_submodules = BooleanField(help_text="Deprecated: true if `submodules` is fetch.")
    publishes_as = CharField(source="user.username", help_text="Account named in its releases and audit events.")
    by = CharField(source="created_by.shown_name", allow_null=True)
    created_at = MomentField()
    started_at = MomentField(allow_null=True, help_text="The first sync.")
    fetched_at = MomentField(allow_null=True, help_text="When its tags were last listed.")
    next_at = MomentField(allow_null=True, help_text="The next poll.")
    suspended_at = MomentField(allow_null=True)
    suspended_reason = CharField()
    failure = GitFailure(allow_null=True, help_text="Error of the last run, if it failed.")
    log = CharField(help_text="Log of the last run, one line per step.")
    tags = VerdictCounts(help_text="Number of tags by verdict.")
    progress = GitProgress(help_text="Progress of the import.")


class NewGitRepository(GitRepository):
    webhook = NewRepositoryHook()


class RepositoriesView(ApiView):
    def place(self, need: Role = Role.OWNER) -> Namespace:
        """Raises what the gate raises."""
        return gate.namespace_for(self.viewer, self.kwargs["namespace"], need=need)

    def repository(self, need: Role = Role.OWNER) -> models.GitRepository:
        """Raises what the gate raises, and NotFound."""
        return connecting.repository_of(self.place(need), self.kwargs["repository_id"])


class WaitingView(RepositoriesView):
    """One that waits for a worker without a thread, as far as the server can; otherwise it answers 202 at once."""

    def until(self) -> float:
        """When the wait of a request ends that begins now."""
        return time.monotonic() + WAIT_SECONDS if self.request.META.get(waiting.OFFERED) else 0.0

    def wait(self, states_of: StatesOf, row: models.GitRepository, until: float, *resume: Any) -> None:
        """Be called again with `resume` once its state is no longer `waiting`; what is answered now is not sent."""
        if time.monotonic() < until:
            kept = Waiting(states_of, row.pk, (host_scanning.WAITING,), until, (*resume, until))
            self.request.META[waiting.ASKED] = kept


def described(rows: Collection[models.GitRepository], hook_secret: str = "") -> list[With]:
    """Return what GitRepository shows of them; three queries for all."""
    prefetch_related_objects(list(rows), "rules")
    counts = verdicts.counts(rows)
    progress = estimating.progress_of(rows)
    return [With(_described(row, counts[row.pk], hook_secret), progress=progress[row.pk]) for row in rows]


def rules_in_order(row: models.GitRepository) -> list[models.Rule]:
    """Return its rules, which were prefetched."""
    return sorted(row.rules.all(), key=lambda rule: rule.position)


def as_sent(row: models.GitRepository) -> dict[str, Any]:
    """Return its fields as they are sent to connect it: `submodules`, not the older `allow_submodules`."""
    return {
        "id": row.pk,
        "url": row.url,
        "forge": row.forge,
        "poll_minutes": row.poll_minutes,
        "submodules": row.submodules.value,
        "rules": GitRule(many=True).to_representation(rules_in_order(row)),
    }


def described_one(row: models.GitRepository, hook_secret: str = "") -> With:
    return described([row], hook_secret)[0]


def _described(row: models.GitRepository, counts: Mapping[str, int], hook_secret: str) -> With:
    key, hook = _setup_of(row)
    failure = {"code": row.failure_code, "message": row.failure, "at": row.failed_at} if row.failed_at else None
    is_deploy_key = row.credential == CredentialKind.DEPLOY_KEY
    facts = {name: str(row.credential_facts.get(name) or "") for name in GitCredential().fields}
    how, page = key if is_deploy_key else ("", "")
    webhook = {"url": hooks.url_of(row), "last_at": row.hooked_at, "how": hook[0], "page": hook[1]}
    return With(
        row,
        rules=rules_in_order(row),
        credential=facts | {"kind": row.credential, "how": how, "page": page},
        host_keys=connecting.host_fingerprints(row),
        host_key_scan={
            "state": host_scanning.state_of(row),
            "at": row.host_scanned_at,
            "fingerprints": sorted(map(host_keys.fingerprint, (row.host_scan or {}).get("keys", []))),
            "failure": host_scanning.failure_of(row),
        },
        webhook=webhook | ({"secret": hook_secret} if hook_secret else {}),
        failure=failure,
        tags=counts,
    )


def _setup_of(row: models.GitRepository) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the pages on which the forge takes deploy keys and webhooks; empty for what is no Git repository."""
    try:
        remote = remotes.parse(row.url)
    except Invalid:
        return ("", ""), ("", "")
    return forges.where_to_add_key(row.forge, remote), forges.where_to_hook(row.forge, remote)
