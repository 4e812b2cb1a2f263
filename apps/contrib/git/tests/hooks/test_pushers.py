"""The pusher of a tag, as each forge's webhook names them: they take part in its release."""

import json
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.utils import timezone

from apps.accounts.identity import marks
from apps.accounts.models import Grant, Namespace, Role, User
from apps.contrib.git import forges, hooks, pushing, syncing
from apps.contrib.git.models import Forge, GitRepository, Push
from apps.contrib.git.signatures import Sent
from apps.contrib.git.tests.conftest import URL, Git, module, work_off
from apps.contrib.git.tests.hooks.sending import SECRET, Hook, connected, send
from apps.contrib.git.tests.test_took_part import why
from apps.releases.models import Release
from tests.builders.approving import ask_for_approval
from tests.builders.git_servers import Repository
from tests.cast import person
from tests.rows import for_each_row

PUSHER = "erin@push.example"
V1 = ["v1.0.0"]


@for_each_row(
    ("name", "tags", "ids", "addresses"),
    [
        ("github_push_tag", V1, [21031067], ["alice@acme.example"]),
        ("github_create_tag", V1, [21031067], []),
        ("github_enterprise_push_tag", V1, [], ["alice@acme.example"]),
        ("gitlab_tag_push", V1, [1], []),
        ("gitea_push_tag", V1, [1, 1], []),
        ("gitea_create_tag", V1, [1], []),
        ("gitea_push_branch", [], [1, 1], []),
        ("azure_push_tag", V1, [], []),
        ("bitbucket_push_tag", [], [], []),
    ],
)
def test_what_each_forge_says(name: str, tags: Any, ids: Any, addresses: Any) -> None:
    hook = Hook.recorded(name)
    vendor, body = forges.VENDORS[Forge(hook.forge)], json.loads(hook.body)
    sent = Sent({name.lower(): text for name, text in hook.headers.items()}, hook.body)
    said = (
        vendor.tags(vendor.event(sent, body), body),
        [one for one in vendor.pusher_ids(body) if one],
        [one for one in vendor.pusher_addresses(body) if one],
    )

    assert said == (tags, ids, addresses)


def test_azure_writes_addresses_with_a_domain_before_them(acme: Namespace) -> None:
    hook = Hook.recorded("azure_push_tag")
    body = json.loads(hook.body)
    body["resource"]["pushedBy"]["uniqueName"] = f"Windows Live ID\\{PUSHER}"

    assert send(connected(acme, hook), Hook(hook.url, hook.forge, hook.headers, json.dumps(body).encode()).signed())
    assert Push.objects.get().mark == marks.of_address(PUSHER)


@pytest.fixture
def erin(acme: Namespace) -> User:
    user = person("erin", email=PUSHER.upper())
    Grant.objects.create(namespace=acme, user=user, role=Role.OWNER)
    return user


@pytest.fixture
def told(git: Git, acme: Namespace) -> Any:
    """`told("refs/tags/v1.0.0")`: the forge of acme's repository calls, and says that Erin pushed."""
    ask_for_approval(acme)
    git.sync()
    sealed = hooks.seal(SECRET, GitRepository.objects.get().hook_id)
    GitRepository.objects.update(forge=Forge.GITHUB, sealed_hook_secret=sealed)

    def tell(ref: str) -> None:
        fields = {"repository": {"full_name": URL}, "pusher": {"email": PUSHER}, "sender": {"id": 7}}
        hook = Hook.recorded("github_push_tag").changed(ref=ref, **fields).with_headers(X_GitHub_Delivery=ref)
        assert send(GitRepository.objects.get(), hook.signed()).status_code == 200

    return tell


@pytest.mark.both
def test_who_pushed_it_is_found_by_address_or_subject_and_only_for_that_tag(
    told: Any, git: Git, upstream: Repository, alice: User, erin: User
) -> None:
    site = git.repository.url.partition("/acme")[0]
    finn = person("finn")
    Grant.objects.create(namespace=git.repository.namespace, user=finn, role=Role.PUBLISHER)
    SocialAccount.objects.create(user=finn, provider=f"{site}/", uid="7")
    upstream.tag("v1.0.0")
    told("refs/tags/v1.0.0")
    work_off()
    release = Release.objects.get()

    assert (why(erin, release), why(finn, release)) == ("pushed-the-tag", "pushed-the-tag")
    assert why(alice, release) == ""
    upstream.commit(module("more"))
    upstream.tag("v1.1.0")
    told("refs/heads/main")
    work_off()
    assert why(erin, Release.objects.get(version="1.1.0")) == "", "they pushed a branch"


def test_a_webhook_that_comes_after_a_poll_names_them_too(
    told: Any, git: Git, upstream: Repository, erin: User
) -> None:
    upstream.tag("v1.0.0")
    syncing.listen(git.repository)
    work_off()
    release = Release.objects.get()
    assert why(erin, release) == ""

    told("refs/tags/v1.0.0")

    assert why(erin, release) == "pushed-the-tag"
    pushing.prune(timezone.now() + pushing.KEPT * 2)
    assert not Push.objects.exists()
    assert why(erin, release) == "pushed-the-tag", "the release has a copy"


@for_each_row(
    "fields",
    [
        {"ref": "refs/tags/v\x00"},
        {"ref": "refs/tags/\ud800"},
        {"ref": "refs/tags/" + "v" * 301},
        {"after": "0" * 40},
        {"pusher": {"email": ["x"]}, "sender": {"id": True}},
        {"pusher": None, "sender": []},
        {"pusher": {"email": "\ud800@x"}, "sender": {"id": ""}, "ref": []},
    ],
)
def test_bodies_of_other_shapes_name_nobody(fields: dict[str, Any], acme: Namespace) -> None:
    hook = Hook.recorded("github_push_tag")
    answer = send(connected(acme, hook), hook.changed(**fields).signed())

    assert answer.status_code == 200
    assert not Push.objects.exists()
