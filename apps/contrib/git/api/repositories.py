"""/api/v1/namespaces/<ns>/repositories: Git repositories that a namespace publishes from.

Owners connect and change them; publishers read what became of their tags.
"""

from collections.abc import Collection, Iterator
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.urls import path
from django.views.decorators.debug import sensitive_variables
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Role
from apps.api.frame.base import CURSOR, DRY_RUN, PAGE_SIZE, DetailView, operation, page_of, shown
from apps.api.frame.shapes import Consequences, With, page
from apps.contrib.git import connecting, credentials, host_scanning, syncing
from apps.contrib.git.api.shapes import (
    LATER,
    NO_STORE,
    GitRepository,
    GitRuleInput,
    NewGitRepository,
    NewRepositoryHook,
    RepositoriesView,
    WaitingView,
    as_sent,
    described,
    described_one,
)
from apps.contrib.git.models import CredentialKind, Forge, Submodules
from apps.contrib.git.remote.remotes import MAX_URL_CHARACTERS
from apps.releases.lifecycle.access_impact import of_machine

# A scan that ended a moment ago answers a request that is sent again.
SCANNED_WITHIN = timedelta(minutes=1)


def described_in(names: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields of the repositories of these namespaces for files that describe them, as they are sent now."""
    rows = connecting.connected().filter(namespace__name__in=names).select_related("namespace")
    for row in rows.prefetch_related("rules").iterator(chunk_size=PAGE_SIZE):
        yield row.namespace.name, as_sent(row)


class CredentialInput(serializers.Serializer[Any]):
    # `credentials.checked` validates the fields of each kind, with the same errors on every way in.

    kind = serializers.ChoiceField(
        choices=CredentialKind.values,
        help_text="Prefer app, then deploy_key, then token. Use none for a public repository.",
    )
    token = serializers.CharField(
        required=False, write_only=True, max_length=credentials.MAX_TOKEN_CHARACTERS, help_text="For token."
    )
    username = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=credentials.MAX_USER_CHARACTERS,
        help_text="For token: the user name, if the forge shows one.",
    )
    app_id = serializers.CharField(required=False, help_text="For app.")
    installation_id = serializers.CharField(required=False, help_text="For app.")
    private_key = serializers.CharField(
        required=False,
        write_only=True,
        trim_whitespace=False,
        max_length=credentials.MAX_KEY_CHARACTERS,
        help_text="For app: the .pem file from GitHub.",
    )


class RepositoryChange(serializers.Serializer[Any]):
    rules = GitRuleInput(many=True, required=False)
    credential = CredentialInput(required=False)
    poll_minutes = serializers.IntegerField(
        required=False, min_value=1, max_value=connecting.MAX_POLL_MINUTES, help_text="The default is 15."
    )
    submodules = serializers.ChoiceField(
        required=False,
        choices=Submodules.values,
        help_text="What to do if the folder of a module has Git submodules: refuse the tag (the default), fetch "
        "them, or leave "
        "them out as git archive does.",
    )
    allow_submodules = serializers.BooleanField(
        required=False, help_text="Deprecated: use `submodules`. true means fetch, false means refuse."
    )


class RepositoryInput(RepositoryChange):
    url = serializers.CharField(
        max_length=MAX_URL_CHARACTERS,
        help_text="Such as https://github.com/acme/vpc or git@github.com:acme/vpc.git, without credentials.",
    )
    forge = serializers.ChoiceField(
        required=False, choices=Forge.values, help_text="The default depends on the host of the URL."
    )


class SyncInput(serializers.Serializer[Any]):
    tags = serializers.ListField(
        child=serializers.CharField(max_length=300),
        required=False,
        max_length=50_000,
        help_text="At first, only these of the existing tags are published. Later, these as well.",
    )


class HostKeysInput(serializers.Serializer[Any]):
    fingerprints = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        allow_empty=False,
        max_length=20,
        help_text="Fingerprints (SHA256:…) of the keys to trust. Without them, Larder only asks the server for its "
        "keys.",
    )


class RepositoryList(WaitingView):
    @operation(
        "List the Git repositories of a namespace",
        answers={200: page("GitRepositoryPage", repositories=GitRepository(many=True))},
        query=CURSOR,
        scope="publish",
    )
    def get(self, request: Request, **_: Any) -> Response:
        rows, following = page_of(request, connecting.of(self.place(Role.PUBLISHER)))
        return self.answer({"repositories": described(rows), "next": following})

    @operation(
        "Connect a Git repository",
        takes=RepositoryInput,
        answers={201: NewGitRepository, 202: NewGitRepository},
        errors={
            409: "The repository is already connected.",
            429: "Too many requests for host keys of ssh servers are running.",
        },
        again="409, because the repository is connected already.",
    )
    @sensitive_variables("made", "secret")
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Connect it as a draft: nothing is published before the first sync. `webhook.secret` is in this answer alone;
        with a credential of the kind deploy_key, so is the public key, which the forge needs.

        A worker asks an ssh server for its host keys and pins them: `host_key_scan` says what it found. 202 if that
        takes longer than 25 seconds: the repository is connected, and GET has the result then.
        """
        place = self.place()
        if self.resumed:
            number, secret, until = self.resumed.resume
        else:
            until = self.until()
            made = connecting.connect(namespace=place, actor=self.viewer, **self.body())
            number, secret = made.repository.pk, made.hook_secret
        row = connecting.repository_of(place, number)
        if host_scanning.state_of(row) != host_scanning.WAITING:
            return self.answer(described_one(row, secret), HTTPStatus.CREATED, headers=NO_STORE)
        self.wait(host_scanning.states_of, row, until, number, secret)
        return self.answer(described_one(row, secret), HTTPStatus.ACCEPTED, headers=NO_STORE | LATER)


class RepositoryDetail(RepositoriesView, DetailView):
    get = shown("Show a Git repository", GitRepository, scope="publish")

    def row(self, **_: Any) -> With:
        return described_one(self.repository(Role.PUBLISHER))

    @operation(
        "Change a Git repository",
        takes=RepositoryChange,
        answers={200: GitRepository},
        again="200; it lists the tags again, and creates another deploy key if the body requests one.",
        idempotent=False,
    )
    @sensitive_variables("fields")
    def patch(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Fields that are left out stay. `rules` replaces all rules, and tags without a release are judged by the new
        ones at once. `credential` replaces the credential.
        """
        row = self.repository()
        fields = self.body()
        connecting.change(repository=row, actor=self.viewer, **fields)
        return self.answer(described_one(row))

    @operation("Disconnect a Git repository", answers={200: Consequences, 204: None}, query=DRY_RUN, again="404.")
    def delete(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Its releases stay, and its credential is deleted. Revoke that in the forge, and delete the webhook there."""
        row = self.repository()
        if self.is_dry_run():
            return self.answer(of_machine(row.user))
        connecting.disconnect(repository=row, actor=self.viewer)
        return self.answer(status=HTTPStatus.NO_CONTENT)


class Sync(RepositoriesView):
    @operation(
        "List the tags of a Git repository now, and publish those that match a rule",
        takes=SyncInput,
        answers={202: GitRepository},
        again="202; nothing is published twice.",
    )
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """The first sync ends the draft. Without `tags` it publishes every tag that fits a rule."""
        row = self.repository()
        tags = self.body().get("tags")
        syncing.sync(repository=row, actor=self.viewer, tags=tags)
        row = connecting.repository_of(row.namespace, row.pk)
        return self.answer(described_one(row), HTTPStatus.ACCEPTED)


class WebhookSecret(RepositoriesView):
    @operation(
        "Renew the secret of a Git repository's webhook",
        answers={200: NewRepositoryHook},
        again="Makes another secret; only the last one counts.",
    )
    @sensitive_variables("secret")
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """The old secret ends at once: enter the new one in the forge."""
        row = self.repository()
        secret = connecting.renew_hook_secret(repository=row, actor=self.viewer)
        return self.answer(described_one(row, secret).webhook, headers=NO_STORE)


class HostKeys(WaitingView):
    @operation(
        "Read the host keys of a Git repository's ssh server, and trust them",
        takes=HostKeysInput,
        answers={200: GitRepository, 202: GitRepository},
        errors={
            409: "The server has other keys than these.",
            429: "Too many requests for host keys of ssh servers are running.",
            503: "The server cannot be reached.",
        },
        again="The same response.",
    )
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """A worker asks the server, unless it did so within the last minute, and `host_key_scan` has what it showed.
        With `fingerprints` those keys are pinned, if they are all that the server has. The message of 409 has those
        that it has: compare them with what the forge publishes. 202 if the server takes longer than 25 seconds: send
        the same again.
        """
        row = self.repository()
        if self.resumed:
            fingerprints, until = self.resumed.resume
        else:
            fingerprints, until = self.body().get("fingerprints"), self.until()
            host_scanning.ask(repository=row, actor=self.viewer, unless_within=SCANNED_WITHIN)
        if host_scanning.state_of(row) == host_scanning.WAITING:
            self.wait(host_scanning.states_of, row, until, fingerprints)
            return self.answer(described_one(row), HTTPStatus.ACCEPTED, headers=LATER)
        if fingerprints is not None:
            connecting.trust_host_keys(repository=row, actor=self.viewer, fingerprints=fingerprints)
        return self.answer(described_one(row))


_LIST = "namespaces/<segment:namespace>/repositories"
_ONE = f"{_LIST}/<int:repository_id>"

urlpatterns = [
    path(_LIST, RepositoryList.as_view(), name="repositories"),
    path(_ONE, RepositoryDetail.as_view(), name="repository"),
    path(f"{_ONE}/sync", Sync.as_view(), name="repository-sync"),
    path(f"{_ONE}/webhook-secret", WebhookSecret.as_view(), name="repository-webhook-secret"),
    path(f"{_ONE}/host-keys", HostKeys.as_view(), name="repository-host-keys"),
]
